import JSONText
import PollerIdentity
import PollerLocalization
import PollerPayments
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI

@Suite("The onward link of the return page")
struct ReturnLinkTests {
    /// Returns a watch whose customer was sent to a bank.
    func snapshot(
        _ kind: SourceKind = .source,
        state: PaymentState = .awaitingCustomer,
        url: String = "https://hooks.example/r?client_secret=src_secret&x=1",
        closed: ClosedReason? = nil
    ) throws -> WatchSnapshot {
        let watch = Watch(
            WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: kind),
            createdAt: Samples.start,
            deadline: Samples.start + .seconds(600),
            seq: 1,
            clientSecret: try ClientSecret("src_secret"),
            state: WatchState()
        )
        let event = Event(
            watch: watch,
            status: SourceStatus(unchecked: "pending"),
            final: false,
            closed: closed,
            payment: Payment(state: state, amount: 1099, currency: "eur"),
            nextStep: .followLink(.init(url: url)),
            object: RawJSON(unchecked: #"{"redirect":{"url":"\#(url)"}}"#),
            polledAt: Samples.start,
            lag: .zero
        )
        return WatchSnapshot(watch, closed: closed, lastEvent: event)
    }

    @Test("a source's secret is restored in the link target, but not in events or on the page")
    func restored() throws {
        let snapshot = try snapshot()
        #expect(snapshot.lastEvent?.json.contains("src_secret") == false)
        let link = try #require(ReturnLink(snapshot, path: "/r/src_1/continue"))
        #expect(link.target == "https://hooks.example/r?client_secret=src_secret&x=1")
        let update = ReturnUpdate(
            snapshot,
            isFirst: false,
            onward: "/r/src_1/continue",
            in: .in(.en)
        )
        #expect(
            update.state == .action && update.payerMessage.links.map(\.url) == ["/r/src_1/continue"]
        )
        #expect(update.step == .followLink(.init(url: "/r/src_1/continue")))
    }

    @Test("the first page shows no link, and leads on later")
    func first() throws {
        let update = ReturnUpdate(
            try snapshot(),
            isFirst: true,
            onward: "/r/src_1/continue",
            in: .in(.en)
        )
        #expect(
            update.state == .confirming && update.isLoadedAgain
                && update.payerMessage.links.isEmpty
        )
    }

    @Test("without a known and safe target, no link is offered")
    func none() throws {
        // The URL of an intent contains the secret of another object.
        for unknown in [
            try snapshot(.paymentIntent), try snapshot(closed: .expired),
            try snapshot(url: "javascript:alert(1)?client_secret=src_secret"),
        ] {
            #expect(ReturnLink(unknown, path: "/r") == nil)
            let update = ReturnUpdate(unknown, isFirst: false, onward: "/r/x", in: .in(.en))
            #expect(update.payerMessage.links.isEmpty && !update.isLoadedAgain)
            #expect(update.state == (unknown.closed == nil ? .waiting : .unknown))
        }
        let open = try snapshot(.paymentIntent, url: "https://bank.example/go")
        #expect(ReturnLink(open, path: "/r")?.target == "https://bank.example/go")
    }

    @Test("an expired watch with an unfinished payment is shown as unknown, a final state as it is")
    func over() throws {
        func state(_ state: PaymentState, _ closed: ClosedReason?) throws -> ReturnState {
            let update = ReturnUpdate(
                try snapshot(state: state, closed: closed),
                isFirst: false,
                in: .in(.en)
            )
            return update.state
        }
        for open in [PaymentState.awaitingCustomer, .processing, .authorised, .partiallyPaid] {
            #expect(try state(open, .expired) == .unknown)
        }
        #expect(try state(.processing, .settled) == .processing)
        #expect(try state(.paid, .expired) == .confirmed)
        #expect(try state(.refunded, .gone) == .refunded)
        #expect(try state(.reversed, nil) == .reversed)
    }
}
