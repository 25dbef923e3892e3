import { answer, type Call, type CallOutcome, dataAnswer } from '../api/call.ts'
import { textField } from '../api/fields.ts'

export const auditHashFields = { input: textField('The value to look for', { secret: true, required: true }) }

/** Handles GET sys/audit: returns no devices, because the deployment's audit log cannot be enabled or disabled here. */
export const listAuditDevices = (): CallOutcome => answer(dataAnswer({}))

/**
 * Handles POST sys/audit-hash/:method_path: returns the HMAC of a value in the audit log. The service has one audit
 * log, whatever the path.
 */
export const computeAuditHash = async (call: Call<typeof auditHashFields>): Promise<CallOutcome> =>
  answer(dataAnswer({ hash: await call.ports.cipher.hmac(call.parameters.input ?? '') }))
