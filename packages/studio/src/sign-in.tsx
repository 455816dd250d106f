/** Signing in: with the token that the server gave. A link of `reeve studio` brings it in its fragment. */
import { useState } from 'react'
import { useMutation } from './data/queries.ts'
import { server } from './data/server.ts'
import { Button } from './ui/button.tsx'
import { Field, TextInput } from './ui/field.tsx'
import { sentences } from './ui/states.tsx'

/** The token of the address, taken out of it: it is not to stay in the history. */
export function tokenFromAddress(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null || token === '') return undefined
  history.replaceState(null, '', location.pathname + location.search)
  return token
}

export function SignIn({ onDone }: { readonly onDone: () => void }) {
  const [token, setToken] = useState('')
  const { run, busy, error } = useMutation((given: string) => server.signIn(given), { done: onDone })
  return (
    <main className="sign-in">
      <form
        className="panel"
        onSubmit={(event) => {
          event.preventDefault()
          run(token.trim())
        }}
      >
        <header>
          <h1>Sign in to Reeve</h1>
        </header>
        <div className="body stack">
          <Field
            label="Token"
            hint="On this machine: open the link that the command reeve studio has printed. Elsewhere: the token that your administrator gave you."
            problem={error === undefined ? undefined : sentences(error).message}
          >
            {(control) => (
              <TextInput
                {...control}
                type="password"
                autoComplete="current-password"
                value={token}
                onChange={({ target }) => setToken(target.value)}
              />
            )}
          </Field>
          <Button type="submit" tone="accent" busy={busy} disabled={token.trim() === ''}>
            Sign in
          </Button>
        </div>
      </form>
    </main>
  )
}
