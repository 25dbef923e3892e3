// A workload that logs in and renews by node-vault, which uses the connections of the process.
import { globalAgent } from 'node:http'
import nodeVault from 'node-vault'
import { everyRound, settings } from './round.ts'

const { role = '', ...proof } = JSON.parse(settings.login) as Record<string, string>
const options = { endpoint: settings.address, requestOptions: { timeout: settings.timeout } }
const asked = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: Error & { response?: { statusCode?: number } }) => {
    throw Object.assign(error, { status: error.response?.statusCode })
  })

await everyRound({
  login: async () => {
    const { auth } = await asked(nodeVault(options).awsIamLogin({ mount_point: 'cloud', role, ...proof }))
    return auth.client_token
  },
  renew: token => asked(nodeVault({ ...options, token }).tokenRenewSelf()),
  anew: () => globalAgent.destroy(),
})
