package import Logging
import Metrics
package import PollerIdentity
package import PollerOperations
package import PollerQueue
package import PollerWatches
import ServiceLifecycle
import Synchronization

/// Turns each account's event list into hints: one request covers all objects.
///
/// The third use of reconciling under a lease: every process checks regularly (``checkInterval(_:)``), and the first
/// one that finds an account's sweep due leases it for ``span``. It reads the new events, hints, and stores the cursor.
/// The cursor is moved only after the hints, page by page: a crash repeats hints and loses none. After a downtime the
/// cursor leads through everything missed, as far back as the upstream keeps events (30 days). Beyond that the sweep
/// starts at the present and the polls of each source find the rest. The last minutes are read repeatedly, because an
/// event may become visible late (``SweepStep``).
///
/// *An event that crashes the process*: pages and events are handled under the `PoisonGuard`. An event that is set
/// aside is skipped. While an unreadable page is set aside, the sweep of its account stops at it, and polls find the
/// changes meanwhile.
///
/// *An event of an unknown source*: while the upstream does not say to which source a charge belongs, the cursor waits
/// for ``answerSpan`` at most and the other events are handled. Then the event is skipped, because some charges can
/// never be read.
///
/// *Interval*: computed at each check. The interval at the end of a sweep fits the account at that time, but a shop's
/// first hundred payments may come within the twenty minutes that an empty account waits.
///
/// An event that no webhook has delivered five minutes after the sweep read it is counted as missed.
package final class EventSweep<C: Clock>: Service where C.Duration == Duration {
    /// The shortest interval at which a process checks whether an account's sweep is due.
    static var tick: Duration { .seconds(1) }
    /// The longest such interval, by which the sweep of a quiet account may be late.
    static var checkIntervalMax: Duration { .seconds(5) }
    /// The lease of a sweep, which each step renews, and a long step three times in this span.
    static var span: Duration { .seconds(60) }
    /// The number of pages per lease; the rest is left for the next check of any process.
    static var pagesMax: Int { 50 }
    /// The number of concurrent hints.
    static var hintsMax: Int { 32 }
    /// The pause before an event is read again whose owner the upstream did not name.
    static var answerPause: Duration { .seconds(15) }
    /// The longest pause after failures.
    static var failurePauseMax: Duration { .seconds(60) }

    /// The sweep settings of one account.
    package struct Account: Hashable, Sendable {
        package let id: AccountID
        /// Whether webhooks are configured, so that an event without one was missed.
        package let expectsWebhooks: Bool
        /// A fixed pause between two sweeps; `nil` for that of the read budget.
        package let interval: Duration?
        /// The longest interval while the account was paid within a day, if the read budget decides; `nil` for none.
        package let paidMax: Duration?
        /// The list of events to read.
        package let list: EventList

        /// Creates settings.
        package init(
            id: AccountID,
            expectsWebhooks: Bool,
            interval: Duration?,
            paidMax: Duration? = ReadBudget.paidIntervalMax,
            list: EventList = .usual
        ) {
            self.id = id
            self.expectsWebhooks = expectsWebhooks
            self.interval = interval
            self.paidMax = paidMax
            self.list = list
        }

        /// The name of the sweep in the store: each list has its own cursor and lease.
        ///
        /// No account ID contains a `~`.
        package var leaseID: AccountID {
            list == .usual ? id : AccountID(unchecked: "\(id)~\(list.rawValue)")
        }
    }

    /// The factor by which the money list is read less often than the usual one.
    static var moneyPace: Int { 5 }

    private let accounts: [Account]
    private let events: any AccountEvents
    let store: any SweepStore
    let hintIntake: HintIntake
    private let meter: ReadMeter<C>
    let suspects: PoisonGuard
    private let owner: OwnerID
    private let clock: C
    let logger: Logger
    /// The time for which the sweep asks again for the owner of a charge.
    let answerSpan: Duration
    private let failures = Mutex<[AccountID: Int]>([:])
    private let delays: SweepDelays<C>

    /// Creates a sweep of `accounts`, whose reads are counted in `meter`.
    package init(
        accounts: [Account],
        events: any AccountEvents,
        store: any SweepStore,
        watches: any WatchStore,
        meter: ReadMeter<C>,
        suspects: PoisonGuard = .none,
        answerSpan: Duration = .seconds(180),
        owner: OwnerID,
        clock: C,
        logger: Logger
    ) {
        self.accounts = accounts
        self.events = events
        self.store = store
        hintIntake = HintIntake(watches: watches, marks: store, events: events)
        self.meter = meter
        self.suspects = suspects
        self.answerSpan = answerSpan
        self.owner = owner
        self.clock = clock
        self.logger = logger
        delays = SweepDelays(clock: clock)
    }

    /// Sweeps until shutdown or cancellation.
    package func run() async {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                for account in self.accounts {
                    // One task per account, so that a slow one does not delay the others; a shutdown cancels them all.
                    group.addTask { await self.follow(account) }
                }
            }
        }
    }

    private func follow(_ account: Account) async {
        while !Task.isCancelled {
            await sweepIfDue(account)
            // If the sleep is cancelled, the loop's condition ends the loop.
            try? await clock.sleep(for: checkInterval(account))
        }
    }

    /// Sweeps the account if it is due and no other process has leased it.
    package func sweepIfDue(_ account: Account) async {
        do {
            let lease = try await take(account)
            if account.list == .usual { noteHealth(account, lease) }
            guard lease.isOwner else { return }
            try await sweep(account, from: lease)
            if Task.isCancelled { await releaseLease(account) }
        } catch {
            guard !Task.isCancelled else { return await releaseLease(account) }
            if account.list == .usual { delays.updateMetric(account.id) }
            logger.warning(
                "sweep delayed",
                metadata: ["account": "\(account.id)", "error": "\(error)"]
            )
        }
    }

    /// Leases an account's sweep if it is due, or renews the lease of this process.
    ///
    /// By the current interval: by that of the last sweep, one that is due early because the interval has shrunk would
    /// be neither renewed nor released.
    private func take(_ account: Account) async throws(StoreError) -> SweepLease {
        try await store.take(
            account.leaseID,
            owner: owner,
            for: Self.span,
            pace: interval(account)
        )
    }

    /// Releases a sweep that a drain has interrupted, so that another process continues at once and not when the lease
    /// ends.
    private func releaseLease(_ account: Account) async {
        // Not a child task, because the current task is cancelled. It ends with the store's answer or its timeout.
        let last = Task { [self] in
            let lease = try await take(account)
            guard lease.isOwner else { return }
            _ = try await store.finish(
                SweepProgress(cursor: lease.cursor, isCaughtUp: false, unseen: []),
                of: account.leaseID,
                owner: owner,
                pause: .zero
            )
        }
        // Without the store's answer the lease expires.
        _ = await last.result
    }

    /// Returns the current interval between two sweeps.
    ///
    /// It shrinks as soon as the budget of the account grows, or money arrives in the account.
    private func interval(_ account: Account) -> Duration {
        let times = account.list == .usual ? 1 : Self.moneyPace
        if let interval = account.interval { return interval * times }
        return ReadBudget.sweepInterval(
            meter.usage(account.id),
            times: times,
            paidMax: account.paidMax
        )
    }

    /// Returns the time until the next check of an account: a tenth of its interval.
    ///
    /// Every worker checks every account, so the checks of many quiet accounts would add up.
    private func checkInterval(_ account: Account) -> Duration {
        min(max(interval(account) / 10, Self.tick), Self.checkIntervalMax)
    }

    /// Records whether polls may wait for the sweep, because it is quick and up to date.
    private func noteHealth(_ account: Account, _ lease: SweepLease) {
        let interval = interval(account)
        let isFresh =
            lease.caughtUpAt.map { lease.now - $0 <= interval * 3 + .seconds(10) } ?? false
        meter.setSwept(account.id, isFresh && interval <= ReadBudget.sweepIntervalMax)
        delays.update(lease, of: account.id, pace: interval)
    }

    private func sweep(_ account: Account, from first: SweepLease) async throws(StoreError) {
        var lease = first
        for _ in 0..<Self.pagesMax where !Task.isCancelled {
            let interval = interval(account)
            let step = SweepStep(lease, interval: interval)
            meter.count(account.id, isFirst: false)
            let answer = try await read(account, step, from: lease.cursor)
            let page: AccountEventsPage
            do throws(AccountEventsFailure) {
                page = try answer.get()
            } catch {
                // Interrupted by a drain: another process continues at the cursor.
                guard !Task.isCancelled else { return }
                try await failed(account, lease, error)
                return
            }
            for _ in 1..<max(page.requests, 1) { meter.count(account.id, isFirst: false) }
            failures.withLock { $0[account.id] = 0 }
            // In the first sweep there is no gap to close, because polls read the present state.
            let isFirst = lease.cursor == .start
            let found = try await handle(page.events, of: account, createsHints: !isFirst, interval)
            guard !found.mustRepeat else { return try await repeatLater(account, lease, found) }
            let reading = SweepReading(step, page, lease, interval: interval)
            let progress = SweepProgress(
                cursor: reading.cursor,
                isCaughtUp: reading.isCaughtUp,
                unseen: found.unseen,
                rereadPause: reading.rereadPause
            )
            // Pages lead to the end of the list; the overlap before it comes next.
            let isOverlapNext = reading.rereadPause == nil && lease.isRereadDue
            let missed = try await store.finish(
                progress,
                of: account.leaseID,
                owner: owner,
                pause: reading.isCaughtUp && !isOverlapNext ? interval : .zero
            )
            count("poller_sweep_events_total", account, isFirst ? 0 : found.count)
            count("poller_webhook_missed_total", account, missed ?? 0)
            guard missed != nil, !reading.isCaughtUp else { return }
            // The last step ended without a pause, so the sweep is due by any interval.
            lease = try await store.take(account.leaseID, owner: owner, for: Self.span)
            guard lease.isOwner else { return }
        }
    }

    /// Leaves the cursor where it is, so that the events which could not be handled are read again.
    private func repeatLater(
        _ account: Account,
        _ lease: SweepLease,
        _ found: Found
    ) async throws(StoreError) {
        let missed = try await store.finish(
            SweepProgress(cursor: lease.cursor, isCaughtUp: false, unseen: found.unseen),
            of: account.leaseID,
            owner: owner,
            pause: min(Self.answerPause, answerSpan)
        )
        count("poller_sweep_events_total", account, found.count)
        count("poller_webhook_missed_total", account, missed ?? 0)
    }

    /// Reads the events of a step; the failure says whether the page is set aside.
    private func read(
        _ account: Account,
        _ step: SweepStep,
        from cursor: SweepCursor
    ) async throws(StoreError) -> Result<AccountEventsPage, AccountEventsFailure> {
        let suspect = Suspect(
            .sweep,
            partition: suspects.partition(of: account.id.description),
            name: "\(account.leaseID) \(cursor)",
            account: account.id
        )
        typealias Answer = Result<AccountEventsPage, AccountEventsFailure>
        let page = try await suspects.handle(one: suspect) {
            () async throws(StoreError) -> Answer in
            #if DEBUG
            FailPoint.check(.sweep, account.id.description)
            #endif
            do throws(AccountEventsFailure) {
                return .success(try await readRenewing(account, step.range))
            } catch {
                return .failure(error)
            }
        }
        return page ?? .failure(.unavailable("the page is quarantined: \(suspect.id)"))
    }

    /// Returns the events of a range, and renews the lease until they are read.
    ///
    /// A page takes a second or two, and an overlap of 5,000 events has fifty. If the lease ended meanwhile, another
    /// process would read the same overlap, and the progress of neither would be stored.
    private func readRenewing(
        _ account: Account,
        _ range: EventRange
    ) async throws(AccountEventsFailure) -> AccountEventsPage {
        let renewal = Task { [self] in
            while true {
                // Ends when it is cancelled.
                try await clock.sleep(for: Self.span / 3)
                // Without an answer of the store it is tried again.
                _ = try? await take(account)
            }
        }
        defer { renewal.cancel() }
        return try await events.events(of: account.id, account.list, range)
    }

    private func failed(
        _ account: Account,
        _ lease: SweepLease,
        _ error: AccountEventsFailure
    ) async throws(StoreError) {
        let count = failures.withLock { failures in
            failures[account.id, default: 0] += 1
            return failures[account.id, default: 0]
        }
        var next = lease.cursor
        var pause = min(Self.failurePauseMax, Self.tick * (1 << min(count, 6)))
        if error == .cursorTooOld {
            // The last minutes are still readable, and their events are not known yet.
            next = .since(lease.now)
            pause = .zero
        }
        logger.warning(
            error == .cursorTooOld
                ? "the missed events are older than the upstream's retention; sweeping from the last minutes onwards"
                : "events cannot be read",
            metadata: ["account": "\(account.id)", "error": "\(error)"]
        )
        _ = try await store.finish(
            SweepProgress(cursor: next, isCaughtUp: false, unseen: []),
            of: account.leaseID,
            owner: owner,
            pause: pause
        )
    }

    private func count(_ label: String, _ account: Account, _ by: Int) {
        Counter(label: label, dimensions: [("account", account.id.description)])
            .increment(by: by)
    }
}
