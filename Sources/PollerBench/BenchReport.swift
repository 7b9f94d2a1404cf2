import Foundation

/// What `pollerd bench` measured; the member names of its JSON are part of the interface.
struct BenchReport: Sendable {
    /// Percentiles of a latency in milliseconds.
    struct Latency: Sendable {
        var p50 = 0.0
        var p99 = 0.0
        var max = 0.0
    }

    /// One way of polling as fast as it goes.
    struct Throughput: Sendable {
        var pollsPerSecond = 0.0
        var workerCPUUs = 0.0
        var redisCPUUs = 0.0
    }

    var enqueuePerSecond = 0.0
    var bytesPerWatch = 0.0
    var httpFloorCPUUs = 0.0
    var httpFloorPerSecond = 0.0
    var engine = Throughput()
    var whole = Throughput()
    var pacedRate = 0.0
    var dueLag = Latency()
    var publishLatency = Latency()

    /// One object; latencies in ms, CPU in µs.
    var json: String {
        """
        {"due_lag_ms":{"p50":\(text(dueLag.p50)),"p99":\(text(dueLag.p99)),\
        "max":\(text(dueLag.max))},\
        "polls_per_s":\(text(whole.pollsPerSecond)),\
        "worker_cpu_us_per_poll":\(text(whole.workerCPUUs)),\
        "redis_cpu_us_per_poll":\(text(whole.redisCPUUs)),\
        "http_floor_cpu_us":\(text(httpFloorCPUUs)),\
        "http_floor_per_s":\(text(httpFloorPerSecond)),\
        "engine_polls_per_s":\(text(engine.pollsPerSecond)),\
        "engine_worker_cpu_us_per_poll":\(text(engine.workerCPUUs)),\
        "engine_redis_cpu_us_per_poll":\(text(engine.redisCPUUs)),\
        "enqueue_per_s":\(text(enqueuePerSecond)),\
        "bytes_per_watch":\(text(bytesPerWatch)),\
        "paced_polls_per_s":\(text(pacedRate)),\
        "publish_latency_ms":{"p50":\(text(publishLatency.p50)),"p99":\(text(publishLatency.p99))}}
        """
    }

    /// A line a figure, for people.
    var table: String {
        let ratio = httpFloorCPUUs > 0 ? whole.workerCPUUs / httpFloorCPUUs : 0
        let rows: [(String, String)] = [
            ("enqueue, engine alone", "\(text(enqueuePerSecond)) /s"),
            ("Redis memory per pending watch", "\(text(bytesPerWatch)) bytes"),
            ("polls, no-op upstream", "\(text(engine.pollsPerSecond)) /s"),
            ("  worker CPU per poll", "\(text(engine.workerCPUUs)) µs"),
            ("  Redis CPU per poll", "\(text(engine.redisCPUUs)) µs"),
            ("bare AsyncHTTPClient GET", "\(text(httpFloorPerSecond)) /s"),
            ("  CPU per GET", "\(text(httpFloorCPUUs)) µs"),
            ("polls, whole path", "\(text(whole.pollsPerSecond)) /s"),
            ("  worker CPU per poll", "\(text(whole.workerCPUUs)) µs (\(text(ratio)) × bare GET)"),
            ("  Redis CPU per poll", "\(text(whole.redisCPUUs)) µs"),
            ("due lag at \(text(pacedRate)) polls/s", latency(dueLag)),
            ("commit to subscriber", latency(publishLatency)),
        ]
        return rows.map { name, value in
            name.padding(toLength: 34, withPad: " ", startingAt: 0) + value
        }.joined(separator: "\n")
    }

    private func latency(_ latency: Latency) -> String {
        "p50 \(text(latency.p50)) ms, p99 \(text(latency.p99)) ms, max \(text(latency.max)) ms"
    }

    private func text(_ value: Double) -> String {
        value >= 1000 ? String(Int(value.rounded())) : String((value * 100).rounded() / 100)
    }
}
