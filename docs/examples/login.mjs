// Logs in to cloud-auth with the AWS credentials of this process, and renews the token once.
//   BASE=https://auth.example.com/v1 ROLE=shop [MOUNT=cloud] node login.mjs
import { logIn, renew } from './sdk-login.mjs'

const first = await logIn()
// a long-running program renews at two thirds of the lifetime, and logs in again when a renewal fails
const renewed = await renew(first.client_token)
process.stdout.write(
  `logged in for ${first.lease_duration} s with ${first.policies}, renewed for ${renewed.lease_duration} s\n`,
)
