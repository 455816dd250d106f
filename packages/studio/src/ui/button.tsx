/** Buttons: what a press does is their word; `busy` while it is being done. */
import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react'
import { Icon, type IconName } from './icon.tsx'
import { Kbd } from './kbd.tsx'

type Native = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'className' | 'children'>

export interface ButtonProps extends Native {
  /** `accent`: the one thing to do here. `danger`: it cannot be undone. `quiet`: without a border. */
  readonly tone?: 'plain' | 'accent' | 'danger' | 'danger-solid' | 'quiet'
  readonly icon?: IconName
  readonly small?: boolean
  /** It is being done: the button cannot be pressed again. */
  readonly busy?: boolean
  /** The key that does the same. */
  readonly hotkey?: string
  readonly children: ReactNode
  readonly ref?: Ref<HTMLButtonElement>
}

const classes = (tone: ButtonProps['tone'], small = false, more = ''): string =>
  ['button', tone === 'danger-solid' ? 'danger solid' : (tone ?? ''), small ? 'small' : '', more]
    .filter((each) => each !== '')
    .join(' ')

export function Button({ tone, icon, small, busy, hotkey, children, disabled, type, ...native }: ButtonProps) {
  return (
    <button {...native} type={type ?? 'button'} className={classes(tone, small)} disabled={disabled || busy}>
      {busy ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children}
      {hotkey && <Kbd>{hotkey}</Kbd>}
    </button>
  )
}

export interface IconButtonProps extends Native {
  readonly icon: IconName
  /** What it does; spoken, and shown as its tooltip. */
  readonly label: string
  readonly tone?: ButtonProps['tone']
  readonly small?: boolean
}

export function IconButton({ icon, label, tone = 'quiet', small, type, ...native }: IconButtonProps) {
  return (
    <button
      {...native}
      type={type ?? 'button'}
      className={classes(tone, small, 'only-icon')}
      aria-label={label}
      title={label}
    >
      <Icon name={icon} />
    </button>
  )
}
