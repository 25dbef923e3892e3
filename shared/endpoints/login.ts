import { allowAnyone, type EndpointGroup, endpointRow } from '../api/endpoint.ts'
import { loginFields } from '../auth-method/login/fields.ts'
import { loginPhasesOf, prepareLogin, refuseLoginWithoutMount } from '../auth-method/login.ts'
import { guessLoginType } from '../watching/logins.ts'

const LARGEST_LOGIN = 64 * 1024

export const loginGroup: EndpointGroup = {
  name: 'login',
  endpoints: [
    endpointRow.post({
      path: '/auth/:mount/login',
      summary:
        'Log in with a signed identity document (ec2) or a signed caller-identity request (iam), or a token that AWS signed (jwt)',
      fields: loginFields,
      access: allowAnyone,
      uses: ['write', 'instances', 'principals', 'caller-identity', 'issuer-keys'],
      answers: 'auth',
      largestBody: LARGEST_LOGIN,
      uniqueKeys: true,
      login: given => ({ type: guessLoginType(given) }),
      prepare: prepareLogin,
      handle: { phases: loginPhasesOf },
      handleWithoutMount: refuseLoginWithoutMount,
    }),
  ],
}
