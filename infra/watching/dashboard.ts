import { ArnFormat, Stack } from 'aws-cdk-lib'
import { CfnDashboard } from 'aws-cdk-lib/aws-cloudwatch'
import { Construct } from 'constructs'
import { type MetricName, metricNamespace, metricOf } from '../../shared/watching/metrics.ts'
import type { Settings } from '../settings.ts'
import type { MetricSeries } from './alarm.ts'
import { type AlarmName, alarmNameInStage, alarmNames, commonAlarms } from './alarms.ts'

/** A graph of the dashboard. */
interface Graph {
  title: string
  /** our own metrics, with the statistics to draw; default: Sum */
  own?: readonly MetricName[]
  stats?: readonly string[]
  /** true: the graph shows the front end's request metrics */
  requests?: true
}

/** The graphs of the dashboard, one row for each. */
export const dashboardGraphs: readonly Graph[] = [
  { title: 'Logins, by type, outcome and reason', own: ['Logins'] },
  { title: 'How long logins take (ms)', own: ['LoginLatency'], stats: ['p50', 'p99'] },
  {
    title: 'AWS calls that were throttled or failed',
    own: [
      'Ec2Throttles',
      'IamThrottles',
      'StsThrottles',
      'OidcThrottles',
      'Ec2Failures',
      'IamFailures',
      'StsFailures',
      'OidcFailures',
      'IssuerFaults',
    ],
  },
  { title: 'Requests, and their errors', requests: true },
  { title: 'Replication lag', own: ['Lag', 'HeartbeatAge'], stats: ['Maximum'] },
  { title: 'Position up to which no entry is missing', own: ['Frontier'], stats: ['Maximum'] },
  { title: 'Secondary cannot take over', own: ['NotReady'], stats: ['Maximum'] },
  { title: 'Calls that the link rejected', own: ['LinkRefusals'] },
  { title: 'Items that tidy removed or failed to remove', own: ['TidyRemoved', 'TidyFailed'] },
  { title: 'Days until expiry', own: ['LicenceDays', 'CertificateDays'], stats: ['Minimum'] },
]

interface DashboardProps {
  settings: Settings
  /** request metrics, and the alarms on errors */
  fronts: { requests: readonly MetricSeries[]; errors: readonly { alarm: AlarmName }[] }
}

const WIDTH = 8
const HEIGHT = 6
const PER_ROW = 3

/** The dashboard: the states of all alarms, and the graphs. */
export class Dashboard extends Construct {
  constructor(scope: Construct, id: string, { settings, fronts }: DashboardProps) {
    super(scope, id)
    const stack = Stack.of(this)
    const namespace = metricNamespace(settings.stage)
    const widgets = dashboardGraphs.map((picture, index) => ({
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
        metrics: [
          ...ownOf(picture, namespace),
          ...(picture.requests ? fronts.requests.map(toGraphMetric) : []),
        ],
      },
    }))
    const there = new Set<AlarmName>([...commonAlarms, ...fronts.errors.map(one => one.alarm)])
    const alarmArns = alarmNames
      .filter(name => there.has(name))
      .map(name =>
        stack.formatArn({
          service: 'cloudwatch',
          resource: 'alarm',
          resourceName: alarmNameInStage(name, settings.stage),
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

/**
 * Returns the metrics of a graph. A metric with dimensions is a search expression, because its dimension
 * values are unknown at synthesis.
 */
function ownOf({ own = [], stats = ['Sum'] }: Graph, namespace: string): unknown[] {
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

const toGraphMetric = ({ namespace, metricName, dimensions }: MetricSeries): unknown[] => [
  namespace,
  metricName,
  ...dimensions.flatMap(({ name, value }) => [name, value]),
  { stat: 'Sum' },
]
