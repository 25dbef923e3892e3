// A workload that logs in and renews by node:http alone. The workload reads its settings from the
// environment, and prints a line for each request.
import { Agent, request } from 'node:http'
import { everyRound, settings } from './round.ts'

let agent = new Agent({ keepAlive: true })

const ask = (path: string, token: string, body: string): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const headers = token ? { 'x-vault-token': token } : {}
    const options = { method: 'POST', agent, headers, signal: AbortSignal.timeout(settings.timeout) }
    const sent = request(`${settings.address}/v1/${path}`, options, answer => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (more: string) => {
        text += more
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
      answer.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })

async function tokenBy(path: string, token: string, body: string): Promise<string> {
  const { status, text } = await ask(path, token, body)
  if (status >= 400) throw Object.assign(new Error('refused'), { status })
  return (JSON.parse(text) as { auth: { client_token: string } }).auth.client_token
}

await everyRound({
  login: () => tokenBy('auth/cloud/login', '', settings.login),
  renew: token => tokenBy('auth/token/renew-self', token, '{}'),
  anew: () => {
    agent.destroy()
    agent = new Agent({ keepAlive: true })
  },
})
