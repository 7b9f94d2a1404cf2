package import CoreMetrics
import Synchronization

/// Keeps this process's metrics and renders them for Prometheus (text format 0.0.4).
///
/// | metric | type | labels | says |
/// |---|---|---|---|
/// | `poller_polls_total` | counter | `result` | polls by what came of them |
/// | `poller_poll_duration_seconds` | histogram | | how long the upstream took |
/// | `poller_due_lag_seconds` | histogram | | poll against due time |
/// | `poller_claims_total` | counter | `loop` | items claimed |
/// | `poller_leases_lost_total` | counter | `loop` | commits refused because the lease was lost |
/// | `poller_outbox_entries_total` | counter | | events marked for delivery |
/// | `poller_deliveries_total` | counter | `result`, … | attempts by what came of them |
/// | `poller_delivery_lag_seconds` | histogram | | event recorded to delivered |
/// | `poller_http_requests_total` | counter | `method`, `route`, `status` | API requests |
/// | `poller_http_request_duration_seconds` | histogram | `route` | time to answer, long polls included |
/// | `poller_watches_pending`, `…_overdue`, … | gauge | | the whole cluster; see ``ClusterGauges`` |
/// | `poller_metrics_refused_total` | counter | | metrics beyond the bounds below |
///
/// Counters only grow, recorders without aggregation and meters are gauges, timers and other
/// recorders are histograms over fixed buckets; a timer's unit is the second.
///
/// *Limits*: 500 names and 200 label sets a name. Labels are meant to be enumerations; a value
/// that comes from outside must not eat the memory of this process and of Prometheus. What is
/// beyond goes into one set labelled `overflow="true"`, so sums stay right.
///
/// Handlers are made anew at every use of a metric, so the registry hands out the same one for
/// the same name and labels. A class: the process and its metrics system share it.
package final class PrometheusRegistry: MetricsFactory {
    static let namesMax = 500
    static let seriesMax = 200

    private let families = Mutex<[String: PrometheusFamily]>([:])
    private let refused = PrometheusValue()

    /// An empty registry; hand it to `MetricsSystem.bootstrap` once.
    package init() {}

    package func makeCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any CounterHandler {
        value(label, .counter, dimensions)
    }

    package func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        value(label, .counter, dimensions)
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        value(label, .gauge, dimensions)
    }

    package func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        aggregate ? histogram(label, dimensions) : value(label, .gauge, dimensions)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions)
    }

    // A metric's series lives as long as the process: a counter that vanishes looks like a reset.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    /// Everything in Prometheus text format 0.0.4, names in order.
    package var text: String {
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            family.render(name, into: &text)
        }
        if refused.current > 0 {
            text += "# TYPE poller_metrics_refused_total counter\n"
            text += "poller_metrics_refused_total \(PrometheusText.number(refused.current))\n"
        }
        return text
    }

    private func value(
        _ label: String,
        _ kind: PrometheusFamily.Kind,
        _ dimensions: [(String, String)]
    ) -> PrometheusValue {
        guard case .value(let value) = series(label, kind, dimensions) else {
            return PrometheusValue()
        }
        return value
    }

    private func histogram(
        _ label: String,
        _ dimensions: [(String, String)]
    ) -> PrometheusHistogram {
        guard case .histogram(let histogram) = series(label, .histogram, dimensions) else {
            return PrometheusHistogram()
        }
        return histogram
    }

    /// The series of a name and labels; nil when the name is one of another kind or one too many.
    private func series(
        _ label: String,
        _ kind: PrometheusFamily.Kind,
        _ dimensions: [(String, String)]
    ) -> PrometheusFamily.Series? {
        let name = PrometheusText.name(label)
        let labels = PrometheusText.labels(dimensions)
        let series = families.withLock { families -> PrometheusFamily.Series? in
            if families[name] == nil, families.count < Self.namesMax {
                families[name] = PrometheusFamily(kind: kind)
            }
            guard families[name]?.kind == kind else { return nil }
            return families[name]?.series(labels, max: Self.seriesMax)
        }
        if series == nil { refused.increment(by: 1.0) }
        return series
    }
}
