import Hummingbird
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerWatches
import PollerWire

/// The accounts with their usage and limits.
///
/// The routes count nothing themselves: the number of open watches of an account is the size of a few lanes, regardless
/// of the size of the store. A key bound to accounts gets only those.
struct AccountRoutes {
    /// The retry interval after a watch was rejected: payments end within minutes, not seconds.
    static let retryAfter = Duration.seconds(60)

    private static let list = Route(
        .get,
        "/v1/accounts",
        "listAccounts",
        "List accounts with watches, their usage and limits",
        access: .key(.readLanes),
        input: .all(.limit("Accounts per page.", 100), .cursor()) { (limit: $0, cursor: $1) },
        answers: [.ok("A page of accounts.", "AccountPage")]
    )

    let backend: APIBackend

    var routes: [AnsweredRoute] { [Self.list.answered(by: list)] }

    private func list(
        _ input: (limit: Int, cursor: String?),
        _ context: APIContext
    ) async throws -> Response {
        let page = try await page(input.limit, input.cursor, of: context.caller.accounts)
        let accounts = page.items
        let open = try await backend.accounts.counts.openWatches(of: accounts)
        let endpoints = try await backend.endpoints.store.counts(of: accounts)
        let rows = zip(accounts, zip(open, endpoints)).map { account, counts in
            PollerWire.Account(account, counts, backend.accounts.limits[account])
        }
        return Response(ListPage(items: rows, next: page.next).wire(for: context) { $0 })
    }

    /// Returns a page of accounts.
    ///
    /// A bound key always sees all of its accounts, and its cursors are account names.
    private func page(
        _ limit: Int,
        _ cursor: String?,
        of accounts: AccountSet
    ) async throws -> ListPage<AccountID> {
        guard let names = accounts.names else {
            return try await backend.accounts.counts.accounts(limit: limit, cursor: cursor)
        }
        let rest = names.filter { $0 > cursor ?? "" }
        let page = rest.prefix(limit)
        return ListPage(
            items: page.map(AccountID.init(unchecked:)),
            next: page.count < rest.count ? page.last : nil
        )
    }
}

extension PollerWire.Account {
    /// Creates the API representation of an account.
    init(_ account: AccountID, _ counts: (watches: Int, endpoints: Int), _ limit: AccountLimit) {
        self.init()
        id = account.description
        open = counts.watches
        endpoints = counts.endpoints
        openMax = limit.watches > 0 ? limit.watches : nil
        endpointsMax = limit.endpoints > 0 ? limit.endpoints : nil
    }
}

extension Problem {
    /// Creates the problem of an account that has reached its limit of open watches.
    init(_ refusal: TooManyWatches) {
        self.init(
            .tooManyWatches,
            "The account \(refusal.account) has \(refusal.open) of at most "
                + "\(refusal.most) open watches; this request would add \(refusal.asked), and "
                + "nothing was enqueued. Send it again when some have ended, cancel those no "
                + "longer needed, or raise POLLER_WATCHES_PER_ACCOUNT or the account's limits "
                + "in the configuration file.",
            field: "account",
            retryAfterSeconds: Int(clamping: AccountRoutes.retryAfter.ms / 1000)
        )
    }
}
