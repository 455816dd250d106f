/** `reeve/slack`: approvals in Slack, with buttons that decide. */
export { slackApp, type SlackApp, type SlackAppOptions, type SlackPeople } from './slack-app.ts'
export type { SlackUser } from './interaction.ts'
