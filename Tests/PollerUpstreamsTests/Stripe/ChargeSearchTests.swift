import Foundation
import JSONText
import NIOHTTP1
import Poller
import PollerIdentity
import PollerPayments
import PollerWatches
import StripeAPI
import Synchronization
import Testing

@testable import PollerUpstreams

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
            let order = try ChargeInstruction(amount: 1, currency: "eur", metadata: ["order": "1"])
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
                try ChargeInstruction(amount: 1, currency: "eur", metadata: ["order": "1"]),
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
            func charge(
                _ order: ChargeInstruction,
                _ progress: ChargeProgress
            ) async -> ChargeResult {
                await charger(server).charge(
                    Self.watch(progress),
                    order,
                    by: nil,
                    object: Self.saved,
                    timeout: .seconds(30)
                )
            }
            let before = try ChargeInstruction(amount: 500, currency: "eur", metadata: ["v": "1"])
            let first = await charge(before, .none)
            guard case .indeterminate = first else { return fail("\(first)") }
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
            let after = try ChargeInstruction(amount: 700, currency: "eur", metadata: ["v": "2"])
            let second = await charge(after, .doubtful)
            #expect(found(second)?.id.description == (isOfThisRun ? "ch_1" : "ch_2"), "\(second)")
            let posts = server.requests.filter { $0.method == .POST }
            #expect(posts.count == (isOfThisRun ? 1 : 2))
        }
    }

    @Test("a source in doubt is charged with another key only after the list may have lagged")
    func unlisted() async throws {
        try await StubServer.run { server in
            let empty = #"{"object":"list","data":[],"has_more":false}"#
            server.answer(by: { head in
                head.method == .POST
                    ? StubServer.Answer(status: 500, body: #"{"error":{"type":"api_error"}}"#)
                    : StubServer.Answer(body: empty)
            })
            let rounds = RoundCounter()
            let charger = self.charger(server, elapsed: { rounds.now })
            func charge(_ order: ChargeInstruction, after attempt: String?) async -> ChargeResult {
                await charger.charge(
                    Self.watch(attempt == nil ? .none : .doubtful, attempt: attempt ?? ""),
                    order,
                    by: nil,
                    object: Self.saved,
                    timeout: .seconds(30)
                )
            }
            func posts() -> Int { server.requests.count(where: { $0.method == .POST }) }
            let before = try ChargeInstruction(amount: 500, currency: "eur", metadata: ["v": "1"])
            guard case .indeterminate(_, let attempt?) = await charge(before, after: nil) else {
                return fail("the outcome is known")
            }
            // The same key is repeated at once.
            _ = await charge(before, after: attempt)
            #expect(posts() == 2)
            let made = #"{"id":"ch_2","status":"succeeded","livemode":false,"currency":"eur","#
            server.answer(by: { head in
                let charge = made + #""amount":500,"source":{"id":"src_1"}}"#
                return StubServer.Answer(body: head.method == .POST ? charge : empty)
            })
            let other = try ChargeInstruction(amount: 500, currency: "eur", metadata: ["v": "2"])
            for _ in 0..<60 {
                guard case .postponed(_, let pause?, false) = await charge(other, after: attempt)
                else { return fail("it was charged although the first charge may exist") }
                #expect(pause <= .seconds(10) && posts() == 2)
                _ = rounds.next()
            }
            #expect(found(await charge(other, after: attempt))?.id.description == "ch_2")
            #expect(posts() == 3)
        }
    }

    @Test("the age of a charge in doubt is kept although a thousand others are in doubt")
    func ages() {
        let positions = ChargeSearchPositions()
        #expect(positions.age(of: "first", at: .zero) == .zero)
        for number in 0...1000 {
            #expect(positions.age(of: "\(number)", at: .seconds(1)) == .zero)
        }
        #expect(positions.age(of: "first", at: .seconds(60)) == .seconds(60))
    }

    /// A charger with a clock that stands still by default.
    private func charger(
        _ server: StubServer,
        elapsed: @escaping @Sendable () -> Duration = { .zero }
    ) -> StripeCharger {
        StripeCharger(
            accounts: StripeAccounts([
                .main: StripeClientConfiguration(
                    key: StripeKey("sk_test_1"),
                    baseURL: "http://127.0.0.1:\(server.port)"
                )
            ]),
            elapsed: elapsed
        )
    }

    /// A saved card, which stays chargeable.
    private static let saved = RawJSON(
        unchecked: #"{"id":"src_1","status":"chargeable","livemode":false,"type":"card","#
            + #""usage":"reusable","customer":"cus_1","created":1}"#
    )

    private static func watch(
        _ progress: ChargeProgress = .none,
        attempt: String = ""
    ) -> Watch {
        let start = Timestamp(ms: 1_795_000_000_000)
        return Watch(
            key: WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source),
            policy: .standard,
            createdAt: start,
            deadline: start + .seconds(3600),
            run: 1,
            seq: 2,
            state: WatchState(status: .chargeable, charge: progress, chargeAttempt: attempt)
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

    var now: Duration { .seconds(seconds.load(ordering: .relaxed)) }

    func next() -> Duration {
        .seconds(seconds.wrappingAdd(1, ordering: .relaxed).newValue)
    }
}
