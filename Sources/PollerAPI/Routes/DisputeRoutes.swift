import Hummingbird
import PollerHints
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerWatches
import PollerWire

/// The disputes of the accounts with their deadlines, in their current state at the upstream.
///
/// *Cost*: at most one list request per account and minute at the upstream, for any number of requests
/// (``DisputeCache``). Equally rarely, up to three reads of the store for each dispute, to find its payment.
struct DisputeRoutes {
    private static let list = Route(
        .get,
        "/v1/disputes",
        "listDisputes",
        "List disputes with their deadlines, as the upstream reports them now",
        """
        The newest hundred of each account, nearest deadline first, all in one page. They are read from the \
        upstream at most once a minute. Accounts that were not read in time are in unread: send the request again. \
        Respond to a dispute with Stripe's command line, or in the upstream's dashboard.
        """,
        access: .key(.readWatches),
        input: .all(
            .accounts("Disputes of this account only."),
            .flag("closed", "Whether to include disputes that can no longer change.")
        ) { (accounts: $0, hasClosed: $1) },
        answers: [.ok("The disputes.", "DisputeList")],
        problems: [404]
    )

    let cache: DisputeCache?
    let watches: any WatchStore
    let now: @Sendable () -> Timestamp

    var routes: [AnsweredRoute] { [Self.list.answered(by: list)] }

    private func list(
        _ wanted: (accounts: AccountSet, hasClosed: Bool),
        _ context: APIContext
    ) async throws -> Response {
        guard let cache else {
            throw Problem(.notFound, "This server has no upstream with disputes.")
        }
        var answer = DisputeList()
        answer.readAt = Time(now())
        let accounts = cache.accounts.filter { wanted.accounts.contains($0) }
        let readings = await cache.disputes(of: accounts)
        for account in accounts {
            guard let read = readings[account] else {
                var unread = DisputeList.Unread()
                unread.account = account.description
                unread.reason =
                    "not read yet, because there are many accounts; send the request again"
                answer.unread.append(unread)
                continue
            }
            answer.readAt = Time(ms: min(answer.readAt.ms, (now() + (.zero - read.age)).ms))
            switch read.result {
            case .success(let disputes):
                for dispute in disputes where wanted.hasClosed || !dispute.isClosed {
                    answer.data.append(try await wireDispute(dispute, cache))
                }
            case .failure(let failure):
                var unread = DisputeList.Unread()
                (unread.account, unread.reason) = (account.description, failure.reason)
                answer.unread.append(unread)
            }
        }
        // Disputes that need no response come last, the newest first.
        answer.data.sort { left, right in
            let never = Int64.max
            return (left.dueAt?.ms ?? never, right.createdAt?.ms ?? 0)
                < (right.dueAt?.ms ?? never, left.createdAt?.ms ?? 0)
        }
        return Response(answer)
    }

    private func wireDispute(
        _ dispute: AccountDispute,
        _ cache: DisputeCache
    ) async throws -> PollerWire.Dispute {
        var wireDispute = PollerWire.Dispute()
        wireDispute.id = dispute.id
        wireDispute.account = dispute.account.description
        wireDispute.status = dispute.status
        wireDispute.needsResponse = dispute.needsResponse
        wireDispute.isOpen = !dispute.isClosed
        wireDispute.amount = dispute.amount?.minorUnits
        wireDispute.currency = dispute.currency
        wireDispute.reason = dispute.reason
        wireDispute.charge = dispute.charge?.description
        wireDispute.createdAt = dispute.createdAt.map { Time($0) }
        wireDispute.dueAt = dispute.dueAt.map { Time($0) }
        let linkedWatch = try await linkedWatch(of: dispute, cache)
        wireDispute.source = linkedWatch.key?.source.description
        wireDispute.kind = linkedWatch.key.map { Open(rawValue: $0.kind.rawValue) }
        wireDispute.order = linkedWatch.order?.description
        return wireDispute
    }

    /// Returns the watch of the disputed payment, searched once after each read of its account.
    private func linkedWatch(
        of dispute: AccountDispute,
        _ cache: DisputeCache
    ) async throws -> DisputeCache.LinkedWatch {
        if let known = await cache.linkedWatch(of: dispute) { return known }
        let watch = try await watch(of: dispute)?.watch
        let linkedWatch = DisputeCache.LinkedWatch(key: watch?.key, order: watch?.order)
        await cache.keep(linkedWatch, of: dispute)
        return linkedWatch
    }

    /// Returns the watch of the disputed payment: of its intent, of its charge, or the one that created the charge.
    private func watch(of dispute: AccountDispute) async throws -> WatchSnapshot? {
        var keys: [WatchKey] = []
        if let intent = dispute.intent {
            keys.append(
                WatchKey(account: dispute.account, source: intent, kind: .paymentIntent)
            )
        }
        if let charge = dispute.charge {
            let source = SourceID(unchecked: charge.description)
            keys.append(WatchKey(account: dispute.account, source: source, kind: .charge))
        }
        for key in keys {
            if let found = try await watches.snapshot(of: key) { return found }
        }
        guard let charge = dispute.charge,
            // An ID from the upstream is a single word. Any other text has no watch.
            let search = try? SearchQuery(
                charge.description,
                keys: watches.searchKeys,
                now: now()
            )
        else { return nil }
        let query = ListQuery(accounts: .some([dispute.account]), search: search, limit: 1)
        return try await watches.list(query).items.first
    }
}
