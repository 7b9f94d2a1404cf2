package import JSONText
package import PollerIdentity
package import PollerPayments
package import PollerQueue
package import PollerWatches

// Initialisers with default values for tests.

extension WatchKey {
    /// Creates the key of a source from its name.
    package init(
        _ source: String,
        of account: AccountID = .main,
        kind: SourceKind = .source
    ) {
        self.init(account: account, source: SourceID(unchecked: source), kind: kind)
    }
}

extension Watch {
    /// Creates a watch in its first run, with the standard policy.
    package init(
        _ key: WatchKey,
        goal: WatchGoal = .settled,
        createdAt: Timestamp,
        deadline: Timestamp,
        seq: Int = 0,
        reopenedSeq: Int? = nil,
        pendingHint: HintTopic? = nil,
        clientSecret: ClientSecret? = nil,
        charge: ChargeInstruction? = nil,
        acts: DeadlineActs = .unset,
        order: OrderID? = nil,
        state: WatchState = WatchState(),
        payment: PaymentMemory? = nil
    ) {
        self.init(
            key: key,
            policy: .standard,
            goal: goal,
            createdAt: createdAt,
            deadline: deadline,
            run: 1,
            seq: seq,
            reopenedSeq: reopenedSeq,
            pendingHint: pendingHint,
            clientSecret: clientSecret,
            charge: charge,
            acts: acts,
            order: order,
            state: state,
            payment: payment
        )
    }
}

extension ClaimRequest {
    /// Creates a claim without limits of the lane.
    package init(
        partition: Int,
        limit: Int = 100,
        owner: OwnerID = OwnerID(unchecked: "AAAAAAAAAAA"),
        lease: Duration = .seconds(10),
        ahead: Duration = .zero
    ) {
        self.init(
            partition: partition,
            limit: limit,
            owner: owner,
            lease: lease,
            lane: .unlimited,
            ahead: ahead
        )
    }
}

extension Event {
    /// Creates an event that closes nothing, without delay between poll and record.
    package init(
        _ watch: Watch,
        of subject: EventSubject = .status,
        at index: Int = 0,
        status: SourceStatus? = nil,
        final: Bool = false,
        closed: ClosedReason? = nil,
        payment: Payment? = nil,
        nextStep: NextStep = .none,
        isLive: Bool? = nil,
        object: RawJSON? = nil,
        polledAt: Timestamp
    ) {
        self.init(
            watch: watch,
            of: subject,
            at: index,
            status: status,
            final: final,
            closed: closed,
            payment: payment,
            nextStep: nextStep,
            isLive: isLive,
            object: object,
            polledAt: polledAt,
            lag: .zero
        )
    }
}

extension LaneReport {
    /// Creates a lane that is not limited, paused or held.
    package init(
        _ lane: LaneID,
        waiting: Int = 0,
        overdue: Int = 0,
        oldestDue: Timestamp? = nil,
        inFlight: Int = 0,
        limit: LaneLimit? = nil,
        isPaused: Bool = false,
        heldUntil: Timestamp? = nil,
        notBefore: Timestamp? = nil,
        factor: Double = 1,
        failures: Int = 0,
        lastFailure: LaneFailure? = nil,
        now: Timestamp
    ) {
        self.init(
            lane: lane,
            partition: 0,
            waiting: waiting,
            overdue: overdue,
            oldestDue: oldestDue,
            inFlight: inFlight,
            limit: limit,
            isPaused: isPaused,
            heldUntil: heldUntil,
            notBefore: notBefore,
            factor: factor,
            failures: failures,
            lastFailure: lastFailure,
            now: now
        )
    }
}
