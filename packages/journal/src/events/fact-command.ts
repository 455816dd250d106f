/** What every fact has in common: it is a command that is recorded once, claimed by its address (K4). */
export interface FactCommand {
  readonly op: 'fact'
  readonly address: string
}
