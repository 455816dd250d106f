/** The environment of an OTLP exporter, as the specification has it: what holds, what goes first, what is told. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { otlpSettings, type Environment } from '../src/environment.ts'
import type { OtlpOptions } from '../src/environment.ts'
import { agent, createRuntime } from 'reeve'
import { liveTelemetry } from 'reeve/otel'
import { receiver } from './otlp-receiver.ts'

const of = (env: Environment, options: OtlpOptions = {}): ReturnType<typeof otlpSettings> => otlpSettings(options, env)
afterEach(() => vi.unstubAllEnvs())

test.each<[string, Environment, string, string]>([
  ['nothing', {}, 'http://127.0.0.1:4318/v1/traces', 'http://127.0.0.1:4318/v1/metrics'],
  [
    'a base',
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://a/otel/' },
    'https://a/otel/v1/traces',
    'https://a/otel/v1/metrics',
  ],
  [
    'an endpoint of a signal, as it is',
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://a', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://b/custom' },
    'https://b/custom',
    'https://a/v1/metrics',
  ],
  [
    'an empty variable, as an unset one',
    { OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ' ' },
    'http://127.0.0.1:4318/v1/traces',
    'http://127.0.0.1:4318/v1/metrics',
  ],
])('where it is sent: %s', (_what, env, traces, metrics) => {
  const settings = of(env)
  expect([settings.traces.url, settings.metrics.url, settings.problems]).toEqual([traces, metrics, []])
})

test('options go before the environment', () => {
  const env = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://b/custom',
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1',
    OTEL_EXPORTER_OTLP_TIMEOUT: '5',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
    OTEL_SERVICE_NAME: 'shop',
  }
  const options = { url: 'https://c', headers: { b: '2' }, timeoutMs: 7, gzip: true, serviceName: 'desk' }
  expect(of(env, options)).toMatchObject({
    traces: { url: 'https://c/v1/traces', headers: { b: '2' }, timeoutMs: 7, gzip: true },
    resource: { 'service.name': 'desk' },
  })
})

test('variables of a signal go before those of all', () => {
  const { traces, metrics } = of({
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'Authorization=Basic%20cGs%3D, x-tenant = my team ',
    OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
    OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: '3000',
    OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'none',
  })
  expect(traces).toMatchObject({
    headers: { Authorization: 'Basic cGs=', 'x-tenant': 'my team' },
    timeoutMs: 2_000,
    gzip: false,
  })
  expect(metrics).toMatchObject({ headers: { a: '1' }, timeoutMs: 3_000, gzip: true })
})

test('attributes of the resource, and the name of the service before them', () => {
  const env = { OTEL_RESOURCE_ATTRIBUTES: 'service.name=a,deployment.environment.name=p%2Cq' }
  expect(of(env).resource).toEqual({ 'service.name': 'a', 'deployment.environment.name': 'p,q' })
  expect(of({ ...env, OTEL_SERVICE_NAME: 'b' }).resource['service.name']).toBe('b')
})

test.each<[Environment, RegExp]>([
  [
    { OTEL_EXPORTER_OTLP_HEADERS: '"authorization=Bearer s3cret"' },
    /OTLP_HEADERS begins and ends with quotation marks/,
  ],
  [{ OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x=%zz,s3cret' }, /TRACES_HEADERS has a pair that is not key=value/],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'x=a%0Ab' }, /OTLP_HEADERS has a pair/],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /OTLP_PROTOCOL asks for another protocol/],
  [{ OTEL_EXPORTER_OTLP_COMPRESSION: 'zstd' }, /neither gzip nor none/],
  [{ OTEL_EXPORTER_OTLP_TIMEOUT: '10s' }, /not a number of milliseconds/],
  [{ OTEL_EXPORTER_OTLP_CERTIFICATE: '/ca.pem' }, /NODE_EXTRA_CA_CERTS/],
  [{ OTEL_TRACES_SAMPLER: 'always_off' }, /SAMPLER is not read/],
])('%j is told, and its value is not', (env, problem) => {
  const { problems } = of(env)
  expect(problems.join('; ')).toMatch(problem)
  expect(problems.join('; ')).not.toContain('s3cret')
})

describe('switched off', () => {
  const poet = agent({ name: 'poet', description: 'Writes.', model: () => 'x' })
  test.each<[Environment, boolean, number, boolean]>([
    [{ OTEL_SDK_DISABLED: 'true' }, false, 0, false],
    [{ OTEL_TRACES_EXPORTER: 'none' }, true, 0, true],
    [{ OTEL_METRICS_EXPORTER: 'none' }, true, 3, false],
  ])('%j', async (env, isActive, spans, hasMetrics) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    await using to = await receiver()
    await using runtime = await createRuntime({ agents: [poet] })
    const live = await liveTelemetry(runtime, { otlp: { url: to.url } })
    await runtime.run(poet, 'x')
    await live.close()
    expect([live.isActive, to.spans.length, to.metrics.length > 0]).toEqual([isActive, spans, hasMetrics])
  })
})
