import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@Suite("delivery of recorded changes", .timeLimit(.minutes(5)))
struct NotifierTests {
    let rig = WorkerRig()

    @Test("each endpoint receives every change once and in order, despite failed attempts")
    func wholePath() async throws {
        let clock = rig.clock
        let deliveries = MemoryDeliveryQueue(time: ClockTime(clock))
        let channel = RecordingChannel(schedule: RetrySchedule(waits: [.seconds(1), .seconds(2)]))
        channel.script([.failed("503", after: nil), .failed("503", after: nil)])
        let plan = FaultPlan()
        plan.fail(.mark, [.refused, .answerLost])
        plan.fail(.acknowledge, [.refused])
        let reader = OutboxReader(
            FaultyStore(rig.store, plan: plan),
            FaultyDeliveryQueue(deliveries, plan: plan),
            clock: clock
        )
        let notifier = LeaseWorker(
            "notifier",
            deliveries,
            DeliveryHandler(store: rig.store, channels: [channel], logger: Sample.quiet),
            concurrency: 8,
            lease: .seconds(30),
            clock: clock
        )
        let urls = try ["https://a.example/", "https://b.example/"].map { try NotifyURL($0) }
        let keys = (0..<6).map { Sample.key("src_\($0)") }
        for key in keys {
            rig.upstream.script(
                key.source,
                [.pending, .status("chargeable"), .status("consumed", final: true)]
            )
        }
        _ = try await rig.store.enqueue(keys.map { try NewWatch(key: $0, notify: urls) })
        let worker = rig.worker()
        try await running(worker.run) {
            try await running(reader.run) {
                try await running(notifier.run) {
                    try await rig.timePasses(until: "everything is told") {
                        let store = try await rig.store.stats()
                        let delivered = try await deliveries.stats().closed
                        return delivered == 12 && store.undelivered == 0 && store.closed == 6
                    }
                }
            }
        }
        for url in urls {
            for key in keys {
                let delivered = channel.attempts.filter { $0.url == url && $0.event.key == key }
                var seqs = delivered.map(\.event.seq)
                // A repeated attempt has the same event.
                seqs = seqs.enumerated().filter {
                    $0.offset == 0 || seqs[$0.offset - 1] != $0.element
                }
                .map(\.element)
                #expect(seqs == [1, 2, 3], "\(url) \(key.source)")
            }
        }
        #expect(channel.attempts.count == 38)
    }
}
