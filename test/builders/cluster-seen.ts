import { type ObservedCluster, observeCluster } from '../../shared/set/status.ts'

/** Builds an observed cluster from two answers, with the code that every program uses. */
export const seenAs = (
  name: string,
  status: object,
  code = (status as { mode?: string }).mode === 'secondary' ? 472 : 200,
  { at = 1_750_000_000_000, ...health }: { at?: number; [field: string]: unknown } = {},
): Promise<ObservedCluster> =>
  observeCluster(
    { name },
    async path => ({
      status: path === 'sys/health' ? code : 200,
      body: path === 'sys/health' ? { initialized: true, cluster_name: name, ...health } : { data: status },
      refused: '',
    }),
    () => at,
  )

/** Makes an observed cluster silent. */
export const silent = (seen: ObservedCluster, why = 'no connection'): ObservedCluster => ({
  ...seen,
  silent: { why, answered: 'nothing' },
})
