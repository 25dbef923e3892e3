import { answer, type Call, data, type Outcome } from '../api/call.ts'
import { text } from '../api/fields.ts'

export const auditHashFields = { input: text('The value to look for', { secret: true, required: true }) }

/** GET sys/audit: no devices, for the one log is the deployment's, and is neither enabled nor disabled here. */
export const listAudit = (): Outcome => answer(data({}))

/** POST sys/audit-hash/:method_path: how a value would appear in the audit log. There is one log, whatever the path. */
export const auditHash = async (call: Call<typeof auditHashFields>): Promise<Outcome> =>
  answer(data({ hash: await call.ports.cipher.hmac(call.parameters.input ?? '') }))
