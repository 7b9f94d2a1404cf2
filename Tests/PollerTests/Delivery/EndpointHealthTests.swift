import Logging
import PollerIdentity
import PollerTesting
import Testing

@testable import PollerDeliveries
@testable import PollerOperations
@testable import PollerQueue

@Suite("EndpointHealth")
struct EndpointHealthTests {
    private let store = MemoryEndpointStore(time: VirtualTime())
    private let day = Duration.seconds(86_400)

    private func endpoint() async throws -> Endpoint {
        let configured = Endpoint(
            id: EndpointID(unchecked: "ep_AAAAAAAAAAAAAAAA"),
            account: .main,
            url: try NotifyURL("mailto:a@b.example")
        )
        guard case .created(let made) = try await store.create(configured, request: nil) else {
            throw InvalidInput("endpoint", "was not created")
        }
        return made
    }

    private func recordResult(
        _ endpoint: Endpoint,
        _ result: AttemptResult,
        after span: Duration
    ) async {
        let directory = EndpointDirectory(store: store, logger: Sample.quiet)
        await EndpointHealth(directory: directory, logger: Sample.quiet).record(
            result,
            of: endpoint,
            LaneOutage(failures: 12, since: VirtualTime.start),
            now: VirtualTime.start + span
        )
    }

    @Test("an endpoint that fails for five days is disabled with the reason")
    func patience() async throws {
        let made = try await endpoint()
        await recordResult(made, .failed("answered 500"), after: day * 4)
        #expect(try await store.read(made.id)?.endpoint.isEnabled == true)
        await recordResult(made, .failed("answered 500"), after: day * 5)
        let state = try await store.read(made.id)?.endpoint.state
        guard case .disabled(let reason, _, let by) = state else { return fail("still enabled") }
        #expect(reason.contains("answered 500"))
        #expect(by == .ourselves, "no person wanted that")
    }

    @Test("each warning is logged once, and those of removed endpoints do not accumulate")
    func warnings() async throws {
        let log = RecordedLog()
        let directory = EndpointDirectory(store: store, logger: Sample.quiet)
        let health = EndpointHealth(directory: directory, logger: log.logger)
        let url = try NotifyURL("mailto:a@b.example")
        func warn(_ number: Int) async {
            let id = EndpointID(unchecked: "ep_\(number)")
            await health.record(
                .failed("answered 500"),
                of: Endpoint(id: id, account: .main, url: url),
                LaneOutage(failures: 12, since: VirtualTime.start),
                now: VirtualTime.start + day
            )
        }
        for number in 0..<Endpoint.countMax { await warn(number) }
        await warn(0)
        #expect(log.all.count == Endpoint.countMax)
        // Others were registered after some had been removed.
        await warn(Endpoint.countMax)
        await warn(0)
        #expect(log.all.count == Endpoint.countMax + 2)
    }

    @Test("410 disables an endpoint at once, and a success never does")
    func gone() async throws {
        let made = try await endpoint()
        await recordResult(made, .delivered, after: day * 9)
        #expect(try await store.read(made.id)?.endpoint.isEnabled == true)
        await recordResult(made, .rejected("answered 410", .gone), after: .zero)
        #expect(try await store.read(made.id)?.endpoint.isEnabled == false)
    }

    @Test("concurrent attempts of several notifiers record one audit entry for disabling")
    func once() async throws {
        let made = try await endpoint()
        let trail = NotedChanges()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                let notifier = EndpointHealth(
                    directory: EndpointDirectory(store: store, logger: Sample.quiet),
                    audit: AuditRecorder(trail: trail, logger: Sample.quiet),
                    logger: Sample.quiet
                )
                for _ in 0..<8 {
                    group.addTask {
                        await notifier.record(
                            .rejected("answered 410", .gone),
                            of: made,
                            nil,
                            now: VirtualTime.start
                        )
                    }
                }
            }
        }
        #expect(trail.count.value == 1)
    }

    @Test("an endpoint that was removed in the meantime is not reported as disabled")
    func removed() async throws {
        let made = try await endpoint()
        let removing = RemovingEndpointStore(base: store)
        let directory = EndpointDirectory(store: removing, logger: Sample.quiet)
        #expect(try await !directory.disable(made.id, reason: "answered 410"))
        #expect(try await store.read(made.id) == nil)
    }
}

/// A registry in which every endpoint is removed just before a change to it.
private struct RemovingEndpointStore: ForwardingEndpointStore {
    let base: any EndpointStore

    func replace(
        _ endpoint: Endpoint,
        version: Int64
    ) async throws(StoreError) -> EndpointReplacement {
        _ = try await base.remove(endpoint.id, version: nil)
        return try await base.replace(endpoint, version: version)
    }
}

@Suite("EndpointVerdict")
struct EndpointVerdictTests {
    private let day = Duration.seconds(86_400)

    private func verdict(
        _ result: AttemptResult,
        failures: Int = 3,
        after span: Duration
    ) -> EndpointVerdict? {
        let outage = LaneOutage(failures: failures, since: VirtualTime.start)
        return EndpointVerdict(result, outage, now: VirtualTime.start + span)
    }

    @Test("five days without a success disable an endpoint, after warnings at one and three days")
    func patience() {
        let failed = AttemptResult.failed("500")
        #expect(verdict(failed, after: day - .milliseconds(1)) == nil)
        guard case .warn(.day, _) = verdict(failed, after: day),
            case .warn(.threeDays, _) = verdict(failed, after: day * 3),
            case .warn(.threeDays, _) = verdict(failed, after: day * 5 - .milliseconds(1)),
            case .disable(let reason) = verdict(failed, after: day * 5)
        else { return fail("not in this order") }
        #expect(reason.contains("500") && reason.contains("\(VirtualTime.start)"))
        #expect(verdict(.delivered, after: day * 9) == nil)
        #expect(verdict(.failed("the store is unavailable", .local), after: day * 9) == nil)
    }

    @Test(
        "ten refusals in a row warn the owner, but an outage does not",
        arguments: [
            (AttemptClass.unauthorized, true), (.notFound, true), (.tls, true),
            (.serverError, false), (.timeout, false),
        ]
    )
    func refusing(kind: AttemptClass, isWarned: Bool) {
        let result = AttemptResult.failed("?", kind)
        #expect(verdict(result, failures: 8, after: .zero) == nil)
        #expect((verdict(result, failures: 9, after: .zero) != nil) == isWarned)
    }
}

/// An audit trail that counts changes.
private struct NotedChanges: AuditTrail {
    let count = Shared(0)

    func note(_ change: AuditedChange) async throws(StoreError) -> AuditEntry {
        count.change { $0 += 1 }
        return AuditEntry(id: "1-0", at: VirtualTime.start, change: change)
    }

    func entries(_ query: AuditQuery) async throws(StoreError) -> ListPage<AuditEntry> {
        ListPage(items: [], next: nil)
    }
}
