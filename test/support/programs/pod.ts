import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { buildJob } from '../../../infra/command/prove/pod.ts'

/** The container of the pod that `cloud-auth prove` starts in an EKS cluster. */
export type PodContainer = ReturnType<typeof buildJob>['spec']['template']['spec']['containers'][0]

/**
 * Runs the command of a container as a process.
 * @param variables variables that EKS adds
 * @returns the log: standard error and standard output
 */
export async function runContainer(
  { command, env }: PodContainer,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const [, ...words] = command
  const own = Object.fromEntries(env.map(({ name, value }) => [name, value]))
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  const child = spawn(process.execPath, words, { env: { ...own, ...variables }, stdio: [...stdio] })
  return (await Promise.all([text(child.stderr), text(child.stdout)])).join('')
}
