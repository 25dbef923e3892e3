import type { FunctionModel } from '../template/assembly.ts'

/** What a function is told of the console page, which is always served here. @param peer origin of the other cluster; empty: none */
export function withPage(one: FunctionModel, peer = ''): FunctionModel {
  const told: Record<string, Record<string, string>> = {
    fallback: { CONSOLE: 'true', CONSOLE_PEER: peer },
    system: { CONSOLE_ORIGIN: peer },
    replication: { CONSOLE_ORIGIN: peer },
  }
  return { ...one, environment: { ...one.environment, ...told[one.folder] } }
}
