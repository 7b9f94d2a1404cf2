import PollerIdentity
import PollerTesting
import Synchronization
import Testing

@testable import PollerDeliveries
@testable import PollerPayments
@testable import PollerWatches

@Suite("PendingEvent")
struct PendingEventTests {
    private func log(_ seqs: ClosedRange<Int>, end: Int? = nil) -> [Event] {
        seqs.map { seq in
            let watch = Sample.watch(seq: seq - 1)
            return Event(
                watch,
                status: SourceStatus(unchecked: "s\(seq)"),
                final: seq == end,
                polledAt: VirtualTime.start
            )
        }
    }

    @Test("without failures the oldest event is next, and none is skipped")
    func oldest() {
        let next = PendingEvent(in: log(3...6), isWhole: true, coalesces: false) { _ in true }
        #expect(next?.event.seq == 3 && next?.event.skippedSeqs == [] && next?.more == true)
    }

    @Test("after a failure the newest event replaces older ones, which are listed as skipped")
    func newest() {
        let next = PendingEvent(in: log(3...6), isWhole: true, coalesces: true) { $0.seq != 4 }
        #expect(next?.event.seq == 6 && next?.event.skippedSeqs == [3, 5])
        #expect(next?.more == false)
    }

    @Test("the last event of a run is never skipped for later events")
    func end() {
        let next = PendingEvent(in: log(3...6, end: 5), isWhole: false, coalesces: true) { _ in
            true
        }
        #expect(next?.event.seq == 5 && next?.event.skippedSeqs == [3, 4] && next?.more == true)
    }

    @Test("only the event to send is decoded, unless the newest replaces the others")
    func decoding() {
        let decoded = Mutex<[Int]>([])
        let events = log(3...6)
        let entries = events.map { event in
            LoggedEvent(seq: event.seq) {
                nil
            } event: {
                decoded.withLock { $0.append(event.seq) }
                // An entry that is not understood is left out.
                return event.seq == 3 ? nil : event
            }
        }
        let next = PendingEvent(in: entries, isWhole: true, coalesces: false) { $0.seq != 4 }
        #expect(next?.event.seq == 5 && next?.event.skippedSeqs == [] && next?.more == true)
        #expect(decoded.withLock(\.self) == [3, 4, 5])
        let newest = PendingEvent(in: entries, isWhole: true, coalesces: true) { $0.seq != 6 }
        #expect(newest?.event.seq == 5 && newest?.event.skippedSeqs == [4])
        // The last event of the log is passed in the next step.
        #expect(newest?.more == true)
        #expect(PendingEvent(in: entries, isWhole: true, coalesces: false) { _ in false } == nil)
    }

    @Test("the signed body lists the skipped events")
    func body() throws {
        let next = PendingEvent(in: log(1...3), isWhole: true, coalesces: true) { _ in true }
        let event = try #require(next?.event)
        let url = try NotifyURL("https://a.example/")
        let body = DeliveryTarget(url).body(of: event)
        #expect(body == event.json.dropLast() + ",\"skipped_seqs\":[1,2]}")
        var endpoint = Endpoint(
            id: EndpointID(unchecked: "ep_1"),
            account: event.key.account,
            url: url
        )
        endpoint.payload = .thin
        let thin = DeliveryTarget(endpoint).body(of: event)
        #expect(thin == event.thinJSON.dropLast() + ",\"skipped_seqs\":[1,2]}")
    }
}
