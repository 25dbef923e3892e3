// Asks AWS for a token about this process, logs in to cloud-auth with the token, and renews the token of cloud-auth once.
//   BASE=https://auth.example.com/v1 ROLE=shop AUDIENCE=https://auth.example.com AWS_REGION=eu-west-1 node jwt-login.mjs
import { GetWebIdentityTokenCommand, STSClient } from '@aws-sdk/client-sts'
import { post, renew } from './sdk-login.mjs'

const { AUDIENCE, ROLE, MOUNT = 'cloud' } = process.env

// each login needs a new token, because a token logs in once
const { WebIdentityToken: jwt } = await new STSClient().send(
  new GetWebIdentityTokenCommand({ Audience: [AUDIENCE], SigningAlgorithm: 'RS256', DurationSeconds: 300 }),
)
const first = await post(`auth/${MOUNT}/login`, { role: ROLE, jwt })
const renewed = await renew(first.client_token)
process.stdout.write(
  `logged in for ${first.lease_duration} s with ${first.policies}, renewed for ${renewed.lease_duration} s\n`,
)
