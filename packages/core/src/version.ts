/** The version of Reeve. A bundle has it inside: no file is read. */
import manifest from '../../../package.json' with { type: 'json' }

export const version: string = manifest.version
