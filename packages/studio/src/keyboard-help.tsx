/** The keys of the studio. */
import { Fragment } from 'react'
import { Dialog } from './ui/dialog.tsx'
import { Kbd } from './ui/kbd.tsx'

const groups: readonly (readonly [string, readonly (readonly [keys: readonly string[], what: string])[]])[] = [
  [
    'Everywhere',
    [
      [['Ctrl K', '⌘K'], 'Go to a page, run or question'],
      [['?'], 'Show these keys'],
      [['Esc'], 'Close, or leave a field'],
    ],
  ],
  [
    'Inbox',
    [
      [['j', 'k'], 'Next, previous question'],
      [['Enter'], 'Go to the open question'],
      [['x'], 'Select the question, to decide several at once'],
      [['Shift x'], 'Select all from the last selected one to this'],
      [['Esc'], 'Clear the selection'],
      [['a'], 'Approve the open question, or all that are selected'],
      [['r'], 'Reject, with a reason'],
      [['e'], 'Edit the arguments'],
      [['s'], 'Ask for changes'],
      [['/'], 'Search the questions'],
    ],
  ],
  ['Runs', [[['n'], 'Start a run']]],
  [
    'A run',
    [
      [['1', '…', '8'], 'Its tabs, from the left'],
      [['+', '−'], 'Zoom the timeline'],
      [['0'], 'Show all of the timeline'],
    ],
  ],
  [
    'Tables and trees',
    [
      [['↑', '↓'], 'Move'],
      [['←', '→'], 'Close or open a branch; previous or next tab'],
      [['Enter'], 'Open'],
    ],
  ],
]

export function KeyboardHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      {groups.map(([title, keys]) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl className="keys">
            {keys.map(([names, what]) => (
              <Fragment key={what}>
                <dt>
                  <span className="sr-only">{names.join(' or ')}</span>
                  {names.map((name) => (
                    <Kbd key={name}>{name}</Kbd>
                  ))}
                </dt>
                <dd>{what}</dd>
              </Fragment>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  )
}
