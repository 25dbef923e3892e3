import { anyone, endpoint, type Group } from '../api/endpoint.ts'
import { health, healthFields, initStatus, leader, prepareHealth, sealStatus } from '../system/health.ts'

const probe = { method: 'GET', access: anyone, serves: 'always', answers: 'plain', unaudited: true } as const

export const systemGroup: Group = {
  name: 'system',
  endpoints: [
    endpoint({
      ...probe,
      path: '/sys/health',
      head: true,
      summary: 'Health, as a status code',
      fields: healthFields,
      prepare: prepareHealth,
      uses: ['licence'],
      handle: health,
    }),
    endpoint({ ...probe, path: '/sys/seal-status', summary: 'Seal and initialisation', handle: sealStatus }),
    endpoint({ ...probe, path: '/sys/leader', summary: 'The address of this cluster', handle: leader }),
    endpoint({
      ...probe,
      path: '/sys/init',
      summary: 'Whether the cluster is initialised',
      handle: initStatus,
    }),
  ],
}
