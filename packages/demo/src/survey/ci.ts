/**
 * Which files set up continuous integration. Owns: the names. Does not own: what they run (`checks.ts`).
 */

/** The services whose set-up the surveys know. */
export type CiService =
  | 'GitHub Actions'
  | 'GitLab CI'
  | 'CircleCI'
  | 'Azure Pipelines'
  | 'Jenkins'
  | 'Travis CI'
  | 'Bitbucket Pipelines'
  | 'Drone'
  | 'Woodpecker'
  | 'Buildkite'
  | 'AppVeyor'
  | 'Forgejo Actions'
  | 'script'

const services: readonly [service: CiService, pattern: RegExp][] = [
  ['GitHub Actions', /^\.github\/workflows\/[^/]+\.ya?ml$/],
  ['Forgejo Actions', /^\.(forgejo|gitea)\/workflows\/[^/]+\.ya?ml$/],
  ['GitLab CI', /^\.gitlab-ci\.ya?ml$|^\.gitlab\/ci\/.+\.ya?ml$/],
  ['CircleCI', /^\.circleci\/config\.ya?ml$/],
  ['Azure Pipelines', /^azure-pipelines[\w.-]*\.ya?ml$|^\.azure-pipelines\/.+\.ya?ml$/],
  ['Jenkins', /^Jenkinsfile(\.\w+)?$/],
  ['Travis CI', /^\.travis\.ya?ml$/],
  ['Bitbucket Pipelines', /^bitbucket-pipelines\.ya?ml$/],
  ['Drone', /^\.drone\.(ya?ml|star|jsonnet)$/],
  ['Woodpecker', /^\.woodpecker(\.ya?ml$|\/.+\.ya?ml$)/],
  ['Buildkite', /^\.buildkite\/.+\.(ya?ml|sh)$/],
  ['AppVeyor', /^\.?appveyor\.ya?ml$/],
  ['script', /^\.?ci\/(run|[\w-]+\.sh|[\w-]+\.ya?ml)$/],
]

/** The service a path sets up, or `null`. */
export function ciServiceOf(path: string): CiService | null {
  return services.find(([, pattern]) => pattern.test(path))?.[0] ?? null
}

/** The paths that set up continuous integration. */
export function ciFilesOf(paths: readonly string[]): string[] {
  return paths.filter((path) => ciServiceOf(path) !== null)
}
