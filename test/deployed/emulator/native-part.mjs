// Replaces the C++ part of AWS's runtime client, which sends the result of a function. `--import` loads this file before
// the runtime client. A hook then resolves `rapid-client.node` to this file.
import { Agent, request } from 'node:http'
import { registerHooks } from 'node:module'

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === './rapid-client.node'
      ? { url: import.meta.url, format: 'module', shortCircuit: true }
      : next(specifier, context),
})

const [hostname, port] = (process.env['AWS_LAMBDA_RUNTIME_API'] ?? '').split(':')
const agent = new Agent({ keepAlive: true })

/** @param {string} path @param {string} body */
const post = (path, body) =>
  request({ hostname, port, agent, method: 'POST', path: `/2018-06-01/runtime/invocation/${path}` }, answer =>
    answer.resume(),
  ).end(body)

export const initializeClient = () => undefined
/** @param {string} id @param {string} body */
export const done = (id, body) => void post(`${id}/response`, body)
/** @param {string} id @param {string} body */
export const error = (id, body) => void post(`${id}/error`, body)
