import PollerIdentity
import PollerLocalization
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI

@Suite("The return page after another attempt to pay")
struct ReturnAgainTests {
    /// Returns a failed payment, which the poll ten seconds before the last one has recorded.
    ///
    /// Its customer returned `seconds` after the last poll.
    private func snapshot(
        _ state: PaymentState = .failed,
        _ kind: SourceKind = .paymentIntent,
        status: String = "requires_payment_method",
        returned seconds: Int,
        closed: ClosedReason? = nil,
        lastError: String? = nil
    ) -> WatchSnapshot {
        let polledAt = Samples.start + .seconds(60)
        let watch = Watch(
            key: WatchKey("pi_1", kind: kind),
            policy: .auto,
            createdAt: Samples.start,
            deadline: Samples.start + .seconds(3600),
            run: 1,
            seq: 2,
            hintedAt: polledAt + .seconds(seconds),
            state: WatchState(status: SourceStatus(unchecked: status), lastPolledAt: polledAt)
        )
        let event = Event(
            watch,
            status: watch.state.status,
            payment: Payment(state: state, amount: 1099, currency: "eur"),
            nextStep: .chooseMethod,
            polledAt: polledAt + .seconds(-10)
        )
        return WatchSnapshot(watch, closed: closed, lastError: lastError, lastEvent: event)
    }

    @Test(
        "an earlier failure is not shown before an answered poll after the customer's return",
        arguments: [
            (PaymentState.failed, 5, nil), (.expired, 5, nil),
            (.failed, -5, "rate limited by the upstream"),
        ] as [(PaymentState, Int, String?)]
    )
    func outdated(state: PaymentState, returned: Int, lastError: String?) {
        let snapshot = snapshot(state, returned: returned, lastError: lastError)
        let first = ReturnUpdate(snapshot, isFirst: true, in: .in(.en))
        #expect(first.state == .confirming && !first.state.isFinal && first.isOutdated)
        #expect(first.payment.state == .awaitingCustomer)
        #expect(!first.payerMessage.text.contains("not been charged"))
        // The page stays open without a poll as well.
        let later = ReturnUpdate(snapshot, isFirst: false, in: .in(.en))
        #expect(later.state == .waiting && later.isOutdated)
    }

    @Test("a failure is shown that was polled after the return, or that permits no other attempt")
    func current() {
        let shown: [(WatchSnapshot, ReturnState)] = [
            (snapshot(returned: 0), .failed), (snapshot(returned: -5), .failed),
            (snapshot(.expired, returned: -5), .expired),
            (snapshot(returned: -20, lastError: "rate limited by the upstream"), .failed),
            (snapshot(returned: 5, closed: .expired), .failed),
            (snapshot(.failed, .source, status: "failed", returned: 5), .failed),
            (snapshot(.expired, status: "canceled", returned: 5), .expired),
            (snapshot(.paid, status: "succeeded", returned: 5), .confirmed),
        ]
        for (snapshot, state) in shown {
            for isFirst in [true, false] {
                let update = ReturnUpdate(snapshot, isFirst: isFirst, in: .in(.en))
                #expect(update.state == state && !update.isOutdated)
            }
        }
    }

    @Test("the page shows an earlier failure once a poll has found it unchanged")
    func unchanged() async throws {
        let pages = ReturnPageTests()
        try await pages.run("pi_1") { api in
            try await api.see("pi_1", "requires_payment_method", payment: .failed)
            // The return is later than the poll, by the store's clock.
            try await Task.sleep(for: .milliseconds(5))
            let cookie = try await pages.arrive(api, "pi_1")
            let page = try await api.fetch("/r/pi_1", headers: ["Cookie": cookie]).text
            #expect(page.contains(#"data-state="confirming""#) && page.contains(#"data-seq="0""#))
            let state = "/r/pi_1/state?after_seq=0"
            #expect(try await api.fetch(state, headers: ["Cookie": cookie]).status == 304)
            try await api.work(on: "pi_1") { lease, now in
                var state = lease.item.state
                state.lastPolledAt = now
                return Commit(
                    ref: lease.ref,
                    verdict: .next(after: .zero),
                    change: WatchChange(state: state)
                )
            }
            let update = try await api.fetch(state, headers: ["Cookie": cookie])
            #expect(update.status == 200 && update.text.contains(#""state":"failed""#))
        }
    }
}
