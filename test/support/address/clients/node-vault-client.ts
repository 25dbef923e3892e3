// A workload that logs in with its own signature and renews by node-vault-client. The library renews by a
// timer, so `renew` looks up the token instead.
import { globalAgent } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import VaultClient from 'node-vault-client'
import { everyRound, settings } from './round.ts'

const { accessKeyId, secretAccessKey, sessionToken } = settings.credentials
const credentials = { accessKeyId, secretAccessKey, sessionToken }
const made = () =>
  new VaultClient({
    api: { url: settings.address },
    logger: false,
    auth: { type: 'iam', mount: 'cloud', config: { role: 'demo-iam', credentials } },
  })

/** The client library has no timeout, so the workload sets one, as applications do. */
async function read(client: VaultClient): Promise<string> {
  const late = setTimeout(settings.timeout).then(() => {
    throw Object.assign(new Error('no answer'), { name: 'TimeoutError' })
  })
  await Promise.race([client.read('auth/token/lookup-self'), late]).catch(
    (error: Error & { statusCode?: number }) => {
      throw Object.assign(error, { status: error.statusCode })
    },
  )
  return 'its own'
}

const kept = made()
await everyRound({
  login: () => read(made()),
  renew: () => read(kept),
  anew: () => globalAgent.destroy(),
})
