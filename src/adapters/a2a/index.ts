/** `reeve/a2a`: agents for other agents that speak A2A 1.0. */
export {}
