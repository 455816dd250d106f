/**
 * E-mail as a channel, through SMTP.
 *
 * Owns: the mail, its escape, the id by which a repeated one is recognised, what a mail server's word means for another
 * try. Does not own: the words (rendered-notice.ts), SMTP (nodemailer, an optional peer that is loaded when a mail is
 * sent). Mail scanners open every link, so no link decides.
 */
import { createHash } from 'node:crypto'
import type * as nodemailer from 'nodemailer'
import {
  described,
  duration,
  expects,
  failure,
  FailureError,
  functionCheck,
  hasNames,
  optionalPeer,
  required,
  unchecked,
  wholeNumber,
  type Checks,
} from '@reeve/core'
import type { Channel, Notice } from '@reeve/oversight'
import { attemptsMost, mustBeOptionsOf } from './options.ts'
import { addressOf, oneLine, quotation, renderNotice, type Link } from './rendered-notice.ts'

/** A mail as nodemailer takes it. */
export interface EmailMessage {
  readonly from: string
  readonly to: string[]
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly messageId: string
  readonly headers: { readonly [name: string]: string }
  readonly disableFileAccess: true
  readonly disableUrlAccess: true
  readonly signal: AbortSignal
}

/** Sends mails: a transport of nodemailer, or an object with the same method. */
export interface MailTransport {
  sendMail(mail: EmailMessage): Promise<unknown>
}

/** A mail server. */
export interface Smtp {
  readonly host: string
  /** Default 465 if `secure`, else 587. */
  readonly port?: number
  /** TLS from the first byte on. Default: for port 465. */
  readonly secure?: boolean
  /** Without `secure` it is never sent before STARTTLS. */
  readonly auth?: { readonly user: string; readonly pass: string }
}

/** How notices are sent by mail: over `smtp`, or over a `transport` of your own. */
export interface EmailOptions {
  readonly smtp?: Smtp
  readonly transport?: MailTransport
  readonly from: string
  readonly to: string | readonly string[]
  /** The address of a page that shows the run. It must not decide anything when it is opened. Default: none. */
  readonly link?: Link
  /** Default `email`. */
  readonly name?: string
  /** Milliseconds for one try. Default 30 seconds. */
  readonly timeoutMs?: number
  /** The maximum number of attempts, at most 5 minutes apart, while the request is open. Default 50: about 3 hours. */
  readonly attempts?: number
}

const mailAddress = expects(
  (given) => typeof given === 'string' && /^[^\p{Cc}\p{Cf}@]*@[^\p{Cc}\p{Cf}@]+$/u.test(given),
  'one mail address',
)
const checks: Checks<EmailOptions> = {
  smtp: (given, where) =>
    hasNames(given) && typeof (given as Smtp).host === 'string' && (given as Smtp).host !== ''
      ? []
      : [`${where}.host is missing`],
  transport: expects(
    (given) => typeof (given as Partial<MailTransport> | null)?.sendMail === 'function',
    'something with sendMail',
  ),
  from: required(mailAddress),
  to: required((given, where) => {
    const receivers = [given].flat()
    return receivers.length === 0
      ? [`${where} names no receiver`]
      : receivers.flatMap((each) => mailAddress(each, where))
  }),
  link: functionCheck,
  name: unchecked, // by the runtime
  timeoutMs: duration,
  attempts: wholeNumber(1),
}

/**
 * A channel that sends a mail, as text and as HTML. Its `Message-ID` follows from the key of the notice: a reader who
 * gets a repeated one twice can tell. `smtp` needs the optional package nodemailer; without it telling fails with
 * `config.invalid`. Throws `config.invalid` for invalid options.
 */
export function email(options: EmailOptions): Channel {
  mustBeOptionsOf('email', options, checks, ({ smtp, transport }, where) => [
    (smtp === undefined) === (transport === undefined) && `${where}: give either smtp or a transport`,
  ])
  const { smtp, from, to, link, name = 'email', timeoutMs = 30_000, attempts = attemptsMost } = options
  let transport: Promise<MailTransport> | undefined = options.transport && Promise.resolve(options.transport)
  return {
    name,
    timeoutMs,
    attempts,
    async notify(notice, io) {
      const mail = mailOf(notice, io.key, {
        from,
        to: typeof to === 'string' ? [to] : [...to],
        address: addressOf(link, notice),
      })
      const sender = await (transport ??= open(smtp!, timeoutMs))
      try {
        await sender.sendMail({ ...mail, signal: io.signal })
      } catch (thrown) {
        if (io.signal.aborted) throw thrown
        throw new FailureError(refusal(thrown), thrown)
      }
    },
  }
}

async function open({ host, port, secure = port === 465, auth }: Smtp, timeoutMs: number): Promise<MailTransport> {
  const { createTransport } = await installed()
  const transport = createTransport({
    host,
    port: port ?? (secure ? 465 : 587),
    secure,
    ...(auth === undefined ? undefined : { auth: { user: auth.user, pass: auth.pass }, requireTLS: !secure }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return { sendMail: (mail) => transport.sendMail(mail) }
}

/** Loaded when it is needed: who sends no mail need not have it. */
const installed = (): Promise<Pick<typeof nodemailer, 'createTransport'>> => optionalPeer('nodemailer')

/** What a text is in HTML. */
const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')

/** Characters of the arguments in a mail. */
const inputMost = 20_000

/** The mail. Pure. `address`: of a page that shows. */
export function mailOf(
  notice: Notice,
  key: string,
  { from, to, address }: { readonly from: string; readonly to: string[]; readonly address: string | undefined },
): Omit<EmailMessage, 'signal'> {
  const { title, reason, facts, input, commands } = renderNotice(notice, inputMost)
  const heading = notice.type === 'approval' ? 'With' : 'The question'
  const text = [
    quotation(reason),
    facts.map(([name, value]) => `${name}: ${value}`).join('\n'),
    `${heading}:\n${input}`,
    `In a shell:\n${commands.join('\n')}`,
    ...(address === undefined ? [] : [`Look at the run: ${address}`]),
    'Nothing is decided by opening a link or by an answer to this mail.',
  ].join('\n\n')
  const rows = facts.map(([name, value]) => `<tr><th align="left">${escaped(name)}</th><td>${escaped(value)}</td></tr>`)
  const html = [
    `<h3>${escaped(title)}</h3>`,
    `<blockquote style="white-space:pre-wrap">${escaped(reason)}</blockquote>`,
    `<table>${rows.join('')}</table>`,
    `<p>${heading}:</p><pre>${escaped(input)}</pre>`,
    `<p>In a shell:</p><pre>${escaped(commands.join('\n'))}</pre>`,
    ...(address === undefined ? [] : [`<p><a href="${escaped(address)}">Look at the run</a></p>`]),
    '<p>Nothing is decided by opening a link or by an answer to this mail.</p>',
  ].join('\n')
  return {
    from,
    to,
    subject: `[reeve] ${oneLine(title, 150)}`,
    text,
    html,
    messageId: `<${createHash('sha256').update(key).digest('hex').slice(0, 40)}@${domainOf(from)}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/** The domain of an address, which may stand in angle brackets. */
const domainOf = (from: string): string => /@([A-Za-z0-9.-]+)>?\s*$/u.exec(from)?.[1] ?? 'reeve.invalid'

/** Whether another try may help. What the server said is one line of ours. */
function refusal(thrown: unknown): ReturnType<typeof failure> {
  const { code, responseCode, message } = (hasNames(thrown) ? thrown : {}) as { readonly [name: string]: unknown }
  const what = `the mail was not sent: ${oneLine(typeof message === 'string' ? message : described(thrown))}`
  const lasting = responseCode !== undefined && Number(responseCode) >= 500
  const ours = typeof code === 'string' && ['EAUTH', 'ENOAUTH', 'ECONFIG', 'EOAUTH2', 'ETLS'].includes(code)
  return failure('notice.failed', what, lasting || ours ? 'validation' : 'transport')
}
