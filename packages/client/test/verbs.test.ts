/** What a verb is given and answers is what its row of the server says: anything else does not compile. */
import { expect, test } from 'vitest'
import { Http } from '../src/http.ts'

test('a verb is asked for by its path, with the input that its row takes', async () => {
  const asked: unknown[] = []
  const http = new Http({
    baseUrl: 'http://localhost',
    fetch: (url, init) => {
      asked.push([init!.method, url, JSON.parse(init!.body as string)])
      return Promise.resolve(Response.json({ run: 'r2' }, { status: 201 }))
    },
  })
  const fork = await http.verb('/runs/r1/fork', { at: 7 })
  expect(fork.run satisfies string).toBe('r2')
  expect(asked).toEqual([['POST', 'http://localhost/api/runs/r1/fork', { at: 7 }]])
})

/** Held by the compiler: each of these is an error. */
export const refused = (http: Http): readonly (() => Promise<unknown>)[] => [
  // @ts-expect-error no row has this path
  () => http.verb('/runs/r1/paws', {}),
  // @ts-expect-error its row knows no such moment
  () => http.verb('/runs/r1/pause', { at: 'never' }),
  // @ts-expect-error who commands is the principal
  () => http.verb('/runs/r1/pause', { by: 'ann' }),
  // @ts-expect-error its row needs a reason
  () => http.verb('/trust/a/level', { level: 'expert' }),
]
