/**
 * `reeve/notify`: channels over which people are told that something waits for them. `email` over SMTP needs the
 * optional peer `nodemailer`. Nothing that any of them sends decides anything.
 */
export { visible, visibleJson } from '@reeve/core'
export { email, type EmailOptions, type EmailMessage, type MailTransport, type Smtp } from './email.ts'
export type { Fetch } from './post.ts'
export { eventWebhook } from './event-webhook.ts'
export {
  verifyEvent,
  verifyWebhook,
  type EventBody,
  type SignatureOptions,
  type WebhookBody,
  type WebhookHeaders,
} from './signature.ts'
export { slack, type SlackOptions } from './slack.ts'
export { terminal, type TerminalOptions } from './terminal.ts'
export { webhook, type WebhookOptions } from './webhook.ts'
export type { Link } from './rendered-notice.ts'
