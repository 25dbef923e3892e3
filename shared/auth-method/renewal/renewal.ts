import type { Call } from '../../api/call.ts'
import type { Mount } from '../../model/mount.ts'
import type { LoginRecord } from '../../model/token.ts'
import { renewEc2 } from './ec2.ts'
import { renewIam } from './iam.ts'
import type { Renewal } from './outcome.ts'

/**
 * Checks again what a login stands on: the role as it is now, the instance, the principal's binding.
 * @throws ApiError `permission_denied` with the reason for the audit log; `busy` or `provider_failed`
 * @see docs/spec/tokens.md#renewal
 */
export const renewLogin = (call: Call, mount: Mount, login: LoginRecord): Promise<Renewal> =>
  login.authType === 'ec2' ? renewEc2(call, mount, login) : renewIam(call, mount, login)
