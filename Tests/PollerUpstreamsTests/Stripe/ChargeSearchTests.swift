import Foundation
import JSONText
import NIOHTTP1
import Poller
import PollerIdentity
import PollerPayments
import PollerUpstreams
import PollerWatches
import StripeAPI
import Synchronization
import Testing

@Suite("The search for a charge")
struct ChargeSearchTests {
    @Test("a search that exceeds the time of one poll continues in the next poll")
    func busy() async throws {
        try await StubServer.run { server in
            let pages = 9
            server.answer(by: { head in Self.page(head.uri, of: pages) })
            let rounds = RoundCounter()
            let charger = StripeCharger(
                accounts: StripeAccounts([
                    .main: StripeClientConfiguration(
                        key: StripeKey("sk_test_1"),
                        baseURL: "http://127.0.0.1:\(server.port)"
                    )
                ]),
                // Each reading of the clock advances it by a second.
                elapsed: { rounds.next() }
            )
            let order = try ChargeOrder(amount: 1, currency: "eur", metadata: ["order": "1"])
            let watch = Self.watch()
            var results: [ChargeResult] = []
            while results.count < 9, found(results.last) == nil {
                results.append(
                    await charger.charge(
                        watch,
                        order,
                        by: nil,
                        object: Self.saved,
                        timeout: .seconds(12)
                    )
                )
            }
            #expect(found(results.last)?.id.description == "ch_found", "\(results)")
            #expect(results.count > 1)
            for result in results.dropLast() {
                guard case .postponed = result else {
                    Issue.record("\(result)")
                    continue
                }
            }
            let asked = server.requests
            #expect(asked.allSatisfy { $0.method == .GET && $0.uri.contains("customer=cus_1") })
            #expect(asked.count == pages, "no page twice")
        }
    }

    @Test("a page of charges with much metadata is read, and the source is charged")
    func large() async throws {
        try await StubServer.run { server in
            let value = String(repeating: "v", count: 500)
            let metadata = (1...24).map { #""k\#($0)":"\#(value)""# }.joined(separator: ",")
            let charges = (1...100).map { number in
                #"{"id":"ch_\#(number)","status":"succeeded","livemode":false,"amount":1,"#
                    + #""currency":"eur","source":{"id":"src_1"},"metadata":{\#(metadata)}}"#
            }
            let data = charges.joined(separator: ",")
            let list = #"{"object":"list","data":[\#(data)],"has_more":false}"#
            #expect(list.utf8.count > StripeClientConfiguration.defaultMaxBodyBytes)
            let made =
                #"{"id":"ch_made","status":"succeeded","livemode":false,"amount":1,"#
                + #""currency":"eur","source":{"id":"src_1"}}"#
            server.answer(by: { head in
                StubServer.Answer(body: head.method == .POST ? made : list)
            })
            let result = await charger(server).charge(
                Self.watch(),
                try ChargeOrder(amount: 1, currency: "eur", metadata: ["order": "1"]),
                by: nil,
                object: Self.saved,
                timeout: .seconds(60)
            )
            #expect(found(result)?.id.description == "ch_made", "\(result)")
            #expect(server.requests.map(\.method) == [.GET, .POST])
        }
    }

    @Test(
        "a charge in doubt is found although the order has changed since, an older charge is not",
        arguments: [true, false]
    )
    func changed(isOfThisRun: Bool) async throws {
        try await StubServer.run { server in
            let empty = #"{"object":"list","data":[],"has_more":false}"#
            server.answer(by: { head in
                head.method == .POST
                    ? StubServer.Answer(status: 500, body: #"{"error":{"type":"api_error"}}"#)
                    : StubServer.Answer(body: empty)
            })
            func charge(_ order: ChargeOrder, _ progress: ChargeProgress) async -> ChargeResult {
                await charger(server).charge(
                    Self.watch(progress),
                    order,
                    by: nil,
                    object: Self.saved,
                    timeout: .seconds(30)
                )
            }
            let before = try ChargeOrder(amount: 500, currency: "eur", metadata: ["v": "1"])
            let first = await charge(before, .none)
            guard case .indeterminate = first else {
                Issue.record("\(first)")
                return
            }
            // The charge was made, and the account's default has changed since.
            let created = isOfThisRun ? 1_795_000_001 : 1_794_999_999
            let members = #""status":"succeeded","livemode":false,"currency":"eur","#
            let earlier =
                #"{"id":"ch_1",\#(members)"amount":500,"created":\#(created),"#
                + #""source":{"id":"src_1"},"metadata":{"v":"1","poller_source":"src_1"}}"#
            let other = #"{"id":"ch_2",\#(members)"amount":700,"source":{"id":"src_1"}}"#
            let list = #"{"object":"list","data":[\#(earlier)],"has_more":false}"#
            server.answer(by: { head in
                StubServer.Answer(body: head.method == .POST ? other : list)
            })
            let after = try ChargeOrder(amount: 700, currency: "eur", metadata: ["v": "2"])
            let second = await charge(after, .doubtful)
            #expect(found(second)?.id.description == (isOfThisRun ? "ch_1" : "ch_2"), "\(second)")
            let posts = server.requests.filter { $0.method == .POST }
            #expect(posts.count == (isOfThisRun ? 1 : 2))
        }
    }

    /// A charger with a clock that stands still.
    private func charger(_ server: StubServer) -> StripeCharger {
        StripeCharger(
            accounts: StripeAccounts([
                .main: StripeClientConfiguration(
                    key: StripeKey("sk_test_1"),
                    baseURL: "http://127.0.0.1:\(server.port)"
                )
            ]),
            elapsed: { .zero }
        )
    }

    /// A saved card, which stays chargeable.
    private static let saved = RawJSON(
        unchecked: #"{"id":"src_1","status":"chargeable","livemode":false,"type":"card","#
            + #""usage":"reusable","customer":"cus_1","created":1}"#
    )

    private static func watch(_ progress: ChargeProgress = .none) -> Watch {
        let start = Timestamp(ms: 1_795_000_000_000)
        return Watch(
            key: WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source),
            policy: .standard,
            createdAt: start,
            deadline: start + .seconds(3600),
            run: 1,
            seq: 2,
            state: WatchState(status: .chargeable, charge: progress)
        )
    }

    /// A page of the charges of a customer; only the last charge of all belongs to order 1.
    private static func page(_ uri: String, of pages: Int) -> StubServer.Answer {
        let after = uri.components(separatedBy: "starting_after=ch_").last.flatMap(Int.init) ?? 0
        let isLast = after + 1 == pages
        let id = isLast ? "ch_found" : "ch_\(after + 1)"
        let order = isLast ? "1" : "other"
        let charge =
            #"{"id":"\#(id)","status":"succeeded","livemode":false,"amount":1,"currency":"eur","#
            + #""source":{"id":"src_1"},"metadata":{"order":"\#(order)","poller_source":"src_1"}}"#
        return StubServer.Answer(
            body: #"{"object":"list","data":[\#(charge)],"has_more":\#(!isLast)}"#
        )
    }

    private func found(_ result: ChargeResult?) -> ObservedCharge? {
        guard case .made(let charge) = result else { return nil }
        return charge
    }
}

/// A clock that advances by a second at each reading.
private final class RoundCounter: Sendable {
    private let seconds = Atomic(0)

    func next() -> Duration {
        .seconds(seconds.wrappingAdd(1, ordering: .relaxed).newValue)
    }
}
