import {
  allowByPolicy,
  type Endpoint,
  type EndpointGroup,
  endpointRow,
  type SubjectPlace,
} from '../api/endpoint.ts'
import {
  createTidySettingsReset,
  createTidySettingsWriter,
  createTidyStarter,
  readTidySettings,
  readTidyStatus,
  tidyFields,
  tidySettingsFields,
} from '../auth-method/tidy/manage.ts'
import { type TidyList, tidyLists } from '../auth-method/tidy/settings.ts'
import { key } from '../storage/kinds.ts'

/** The names of the lists before Vault 1.7. @see docs/spec/transport.md#deprecated-paths */
const former: Record<TidyList, string> = {
  'identity-accesslist': 'identity-whitelist',
  'roletag-denylist': 'roletag-blacklist',
}

function endpointsOf(list: TidyList): Endpoint[] {
  const settings = {
    path: `/auth/:mount/config/tidy/${list}`,
    formerly: `/auth/:mount/config/tidy/${former[list]}`,
    subject: ({ mount }: SubjectPlace) => key('tidy-settings', mount, list),
  } as const
  return [
    endpointRow.post({
      ...settings,
      summary: `Configure the periodic tidying of ${list}`,
      fields: tidySettingsFields,
      access: allowByPolicy('by-existence'),
      uses: ['write', 'background'],
      handle: createTidySettingsWriter(list),
    }),
    endpointRow.get({ ...settings, summary: `Read the tidy settings of ${list}`, handle: readTidySettings }),
    endpointRow.delete({
      ...settings,
      summary: `Reset the tidy settings of ${list} to the defaults`,
      uses: ['write', 'background'],
      handle: createTidySettingsReset(list),
    }),
    endpointRow.post({
      path: `/auth/:mount/tidy/${list}`,
      formerly: `/auth/:mount/tidy/${former[list]}`,
      summary: `Remove expired entries of ${list} now`,
      fields: tidyFields,
      uses: ['write', 'background'],
      answers: 'accepted',
      handle: createTidyStarter(list),
    }),
  ]
}

export const tidyGroup: EndpointGroup = {
  name: 'tidy',
  endpoints: [
    ...tidyLists.flatMap(endpointsOf),
    endpointRow.get({
      path: '/auth/:mount/tidy-status',
      summary: 'Show the last and the next tidy of each list',
      handle: readTidyStatus,
    }),
  ],
}
