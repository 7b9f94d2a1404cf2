import Foundation
import PollerDeliveries
import PollerHints
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches
import RedisClient

@testable import PollerIncidents
@testable import PollerRedis

/// The operations that change records.
extension StoreExercise {
    /// Claims, commits and releases due items.
    func work(_ outcome: inout Outcome) async {
        let (store, queue) = (harness.store, harness.queue)
        for partition in partitions {
            let request = ClaimRequest(
                partition: partition,
                limit: 20,
                owner: owner,
                lease: .seconds(10),
                lane: .stripe,
                ahead: .seconds(1)
            )
            await outcome.attempt("claim") {
                let leases = try await store.claim(request).leases
                let commits = leases.dropLast().map { lease in
                    var state = lease.item.state
                    state.lastPolledAt = lease.claimedAt
                    return Commit(
                        ref: lease.ref,
                        verdict: .next(after: .seconds(1)),
                        change: WatchChange(state: state, event: nil),
                        signal: .slow(.seconds(1))
                    )
                }
                _ = try await store.commit(commits, then: request)
                if let last = leases.last { _ = try await store.release([last.ref]) }
            }
            await outcome.attempt("recall") {
                _ = try await store.recall(LostClaims(before: request, since: nil))
            }
            await outcome.attempt("claim deliveries") {
                let leases = try await queue.claim(request).leases
                let commits = leases.dropLast().map { lease in
                    Commit(
                        ref: lease.ref,
                        verdict: .next(after: .seconds(1)),
                        change: DeliveryChange(state: lease.item.state),
                        signal: .failing
                    )
                }
                _ = try await queue.commit(commits, then: request)
                if let last = leases.last { _ = try await queue.release([last.ref]) }
            }
            await outcome.attempt("unacknowledged") {
                let entries = try await harness.outbox.unacknowledged(
                    partition: partition,
                    consumer: owner,
                    idle: .zero,
                    limit: 20
                )
                _ = try await harness.outbox.hold(
                    partition: partition,
                    consumer: owner,
                    entries.map { PendingEntry($0.id) }
                )
                try await harness.outbox.acknowledge(partition: partition, entries.map(\.id))
            }
        }
    }

    /// Runs the operations of clients and operators.
    func operate(_ outcome: inout Outcome) async {
        let (store, queue) = (harness.store, harness.queue)
        for key in watches {
            await outcome.attempt("hint") { _ = try await store.hint(key, of: .money) }
            await outcome.attempt("note") {
                try await store.note(WatchNote(.visit, "page"), of: key)
            }
            await outcome.attempt("enqueue") {
                _ = try await store.enqueue([try NewWatch(key: key)])
            }
            await outcome.attempt("redrive") { _ = try await store.redrive(key) }
            await outcome.attempt("pause") { _ = try await store.pause(key.lane) }
            await outcome.attempt("limit") {
                _ = try await store.limit(key.lane, to: .stripe, instead: nil)
            }
            await outcome.attempt("resume") { _ = try await store.resume(key.lane) }
            await outcome.attempt("mark") {
                let url = try NotifyURL("https://a.example/hook")
                try await queue.mark([DeliveryMark(url: url, watch: key)])
            }
        }
        for id in deliveries {
            await outcome.attempt("revise") {
                guard let found = try await queue.delivery(id, of: .all) else { return }
                let state = found.delivery.state
                let revision = DeliveryRevision(id: id, from: state, to: state)
                _ = try await queue.revise([revision], endingHolds: true)
            }
        }
        await outcome.attempt("look") {
            let incidents = harness.incidents
            guard let look = try await incidents.beginCheck(owner, for: .seconds(1)) else { return }
            _ = try await incidents.endCheck(look, board: look.board, reporting: [], pause: .zero)
        }
        await outcome.attempt("beat") {
            let member = Member(
                owner: owner,
                roles: "worker",
                pid: 1,
                host: "h",
                version: "1",
                startedAt: Timestamp(ms: 5),
                inFlight: 0
            )
            _ = try await harness.members.beat(member, for: .seconds(6))
        }
        await outcome.attempt("add activity") { try await harness.activity.add(Activity()) }
        let (client, layout) = (harness.client, harness.layout)
        await outcome.attempt("sweep") {
            let sweeps = RedisSweepStore(client: client, layout: layout)
            _ = try await sweeps.take(.main, owner: owner, for: .seconds(1))
            let progress = SweepProgress(cursor: .start, isCaughtUp: true, unseen: ["evt_2"])
            _ = try await sweeps.finish(progress, of: .main, owner: owner, pause: .zero)
            _ = try await sweeps.addReads(ReadUsage(reads: 1, transactions: 1), of: .main)
        }
        await outcome.attempt("idempotent request") {
            let request = IdempotentRequest(name: "n", fingerprint: "f", isTakenWhenFull: false)
            _ = try await harness.requests.claim(request, owner: "one")
        }
    }

    /// Runs the operations of `Retention`.
    func keepTidy(_ outcome: inout Outcome) async {
        let (store, queue) = (harness.store, harness.queue)
        for partition in partitions {
            await outcome.attempt("remove bodies") {
                _ = try await store.removeBodies(partition: partition, retention: .zero)
                _ = try await queue.trimAttempts(partition: partition, retention: .zero)
            }
            await outcome.attempt("trim") {
                try await harness.outbox.trim(partition: partition, retention: .seconds(3600))
            }
            await outcome.attempt("purge") {
                _ = try await store.purge(
                    partition: partition,
                    retention: .seconds(1),
                    refundableRetention: .zero
                )
                _ = try await queue.purge(
                    partition: partition,
                    retention: .seconds(1),
                    keeping: { _ in false }
                )
            }
        }
    }
}
