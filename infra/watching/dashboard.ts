import { ArnFormat, Stack } from 'aws-cdk-lib'
import { CfnDashboard } from 'aws-cdk-lib/aws-cloudwatch'
import { Construct } from 'constructs'
import { type MetricName, metricNamespace, metricOf } from '../../shared/watching/metrics.ts'
import type { Settings } from '../settings.ts'
import type { Series } from './alarm.ts'
import { type AlarmName, alarmNames, commonAlarms, nameOfAlarm } from './alarms.ts'

/** A picture of the dashboard. */
interface Picture {
  title: string
  /** our own metrics, with the statistics that are drawn of each; Sum unless told otherwise */
  own?: readonly MetricName[]
  stats?: readonly string[]
  /** what the front counts of requests */
  requests?: true
}

/** One row for each picture. */
export const pictures: readonly Picture[] = [
  { title: 'Logins, by type, outcome and reason', own: ['Logins'] },
  { title: 'How long logins take (ms)', own: ['LoginLatency'], stats: ['p50', 'p99'] },
  {
    title: 'Calls that AWS refused, and calls that came to nothing',
    own: ['Ec2Throttles', 'IamThrottles', 'StsThrottles', 'Ec2Failures', 'IamFailures', 'StsFailures'],
  },
  { title: 'Requests, and their errors', requests: true },
  { title: 'How far replication is behind', own: ['Lag', 'HeartbeatAge'], stats: ['Maximum'] },
  { title: 'Position up to which nothing is missing', own: ['Frontier'], stats: ['Maximum'] },
  { title: 'Whether the secondary could not take over', own: ['NotReady'], stats: ['Maximum'] },
  { title: 'Calls that the link refused', own: ['LinkRefusals'] },
  { title: 'What tidy removed, and could not remove', own: ['TidyRemoved', 'TidyFailed'] },
  { title: 'Days that are left', own: ['LicenceDays', 'CertificateDays'], stats: ['Minimum'] },
]

interface DashboardProps {
  settings: Settings
  /** metrics of requests, and the alarms of errors */
  fronts: { requests: readonly Series[]; errors: readonly { alarm: AlarmName }[] }
}

const WIDTH = 8
const HEIGHT = 6
const PER_ROW = 3

/** All alarms, and the metrics of the table. */
export class Dashboard extends Construct {
  constructor(scope: Construct, id: string, { settings, fronts }: DashboardProps) {
    super(scope, id)
    const stack = Stack.of(this)
    const namespace = metricNamespace(settings.stage)
    const widgets = pictures.map((picture, index) => ({
      type: 'metric',
      x: (index % PER_ROW) * WIDTH,
      y: HEIGHT * Math.floor(index / PER_ROW) + HEIGHT,
      width: WIDTH,
      height: HEIGHT,
      properties: {
        title: picture.title,
        region: stack.region,
        view: 'timeSeries',
        period: 300,
        metrics: [...ownOf(picture, namespace), ...(picture.requests ? fronts.requests.map(drawn) : [])],
      },
    }))
    const there = new Set<AlarmName>([...commonAlarms, ...fronts.errors.map(one => one.alarm)])
    const alarmArns = alarmNames
      .filter(name => there.has(name))
      .map(name =>
        stack.formatArn({
          service: 'cloudwatch',
          resource: 'alarm',
          resourceName: nameOfAlarm(name, settings.stage),
          arnFormat: ArnFormat.COLON_RESOURCE_NAME,
        }),
      )
    const states = {
      type: 'alarm',
      x: 0,
      y: 0,
      width: WIDTH * PER_ROW,
      height: HEIGHT,
      properties: { title: 'Alarms', alarms: alarmArns },
    }
    new CfnDashboard(this, 'Dashboard', {
      dashboardName: `cloud-auth-${settings.stage}`,
      dashboardBody: stack.toJsonString({ widgets: [states, ...widgets] }),
    })
  }
}

/** A metric with dimensions is searched for: its series are not known beforehand. */
function ownOf({ own = [], stats = ['Sum'] }: Picture, namespace: string): unknown[] {
  return own.flatMap(name => {
    const { dimensions } = metricOf(name)
    const schema = `{${[`"${namespace}"`, ...dimensions].join(',')}}`
    return stats.map(stat =>
      dimensions.length > 0
        ? [{ expression: `SEARCH('${schema} MetricName="${name}"', '${stat}', 300)` }]
        : [namespace, name, { stat, label: stats.length > 1 ? `${name} ${stat}` : name }],
    )
  })
}

const drawn = ({ namespace, metricName, dimensions }: Series): unknown[] => [
  namespace,
  metricName,
  ...dimensions.flatMap(({ name, value }) => [name, value]),
  { stat: 'Sum' },
]
