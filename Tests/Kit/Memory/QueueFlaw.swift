/// A mistake that an in-memory queue makes on purpose, to show that the tests notice it.
package enum QueueFlaw: String, Hashable, Sendable, CaseIterable {
    /// Commits are accepted from every former owner of the item: no fence.
    case takesStaleCommits
    /// A recall also takes leases whose claims the owner has received.
    case recallsReceivedLeases
    /// The slots of expired leases stay taken.
    case keepsSlotsOfExpiredLeases
    /// A hint to a leased item is lost.
    case forgetsHintsWhileLeased
    /// Every lane is served without its rate limit.
    case ignoresRates
    /// An item whose lease has expired is claimed again although it stays leased to the first worker.
    case reclaimsLeasedItems
    /// Urgent items wait with the normal ones.
    case ignoresPriorities
    /// While there are urgent items, normal ones are not served.
    case starvesNormalItems
    /// Items claimed ahead are reported to start at once.
    case startsAheadAtOnce
    /// Items claimed ahead are all charged to the rate at the time of the claim.
    case chargesRateAtClaim
    /// A lane that was served stays ahead of the others.
    case skipsRotation
    /// A lane's own limit is stored and not applied.
    case ignoresOwnLimits
    /// A paused lane is served.
    case ignoresPauses
    /// Each of a burst of 429s halves the rate again.
    case halvesForEveryResponse
    /// A halved lane stays halved.
    case neverRecoversFactor
    /// No failure opens a circuit.
    case neverOpens
    /// An item that fails again and again opens the circuit of its lane.
    case opensCircuitForOneItem
    /// An open circuit allows no probe when its hold is over.
    case neverProbes
    /// A circuit whose hold is over lets everything through.
    case probesWithEverything
    /// Every hold of a circuit is as short as the first.
    case neverDoublesHolds
    /// Items that killed their workers are claimed in batches of any size.
    case ignoresCrashes
    /// Crashes are counted over an item's whole life, not in a row.
    case neverResetsCrashes
    /// An item closed as dead is not quarantined.
    case forgetsQuarantine
    /// A redriven watch has its old deadline.
    case keepsOldDeadlines
    /// A hint reopens no closed watch.
    case leavesExpiredClosed
    /// A hint reopens every closed watch.
    case reopensSettledWatches
    /// A hint reopens a watch that has killed its workers.
    case reopensDeadWatches
    /// A claim does not report that the circuit of a lane is open.
    case hidesOpenCircuits
    /// A restored watch replaces an existing one.
    case restoresOverOthers
    /// Events of a restored watch are published again.
    case republishesRestoredEvents
    /// In a commit with a claim, the claim comes first.
    case claimsBeforeCommitting
    /// A note about marks is accepted although another history has begun.
    case notesForAnyHistory
    /// Entries of the outbox become idle although their consumer reports that it is at work.
    case ignoresActiveConsumers
    /// A consumer that has lost an entry of the outbox to another one takes it back.
    case allowsRetakingEntries
    /// Trimming drops old entries, even if a consumer has not read them.
    case trimsUnacknowledged
    /// Waiting items stand still for as long as the clock was set back.
    case freezesWithTheClock
    /// Items expire whose deadline was in a gap.
    case expiresItemsInGaps
    /// Closed items are never removed.
    case neverPurges
    /// Paid items are removed with the others, although their money may still go back.
    case purgesRefundablePayments
    /// Attempts of deliveries are not stored.
    case losesAttempts
    /// A delivery with dead letters closes like any other.
    case closesDespiteDeadLetters
    /// A revision ignores leases and changes of the delivery.
    case revisesBlindly
    /// A mark that names an event has no special effect while the delivery is leased.
    case losesNamedEvents
    /// An endpoint's failures are counted from its first failure ever.
    case neverResetsFailures
    /// A process that left is still listed.
    case keepsDepartedMembers
    /// A process whose announcement expires is not listed as lost.
    case forgetsLostMembers
    /// A hint about money does not reopen a watch that closed with an answer.
    case ignoresMoneyHints
    /// A watch is closed although its poll has not covered a hint.
    case closesWithUncoveredHints
    /// Of the events of a commit, only the last is added to the outbox.
    case publishesOnlyTheLastEvent
    /// A commit without a payment removes the stored payment.
    case forgetsPayments
    /// A secret that a poll has learned is not stored.
    case learnsNoSecrets
    /// A request that joins a watch changes the order of the watch.
    case movesToOtherOrders
    /// A poll is recorded although a request has added an order or a charge meanwhile.
    case recordsOutdatedPolls

    /// Whether the simulation cannot detect the mistake.
    ///
    /// The simulation has only watches, and its clock is never set. It does not check deliveries or the readers of
    /// events.
    package var isBeyondSimulation: Bool {
        switch self {
        case .losesAttempts, .closesDespiteDeadLetters, .revisesBlindly, .losesNamedEvents,
            .neverResetsFailures, .notesForAnyHistory, .ignoresActiveConsumers,
            .allowsRetakingEntries, .freezesWithTheClock, .expiresItemsInGaps, .forgetsPayments,
            .learnsNoSecrets, .ignoresMoneyHints, .movesToOtherOrders, .purgesRefundablePayments,
            .closesWithUncoveredHints, .restoresOverOthers, .republishesRestoredEvents,
            .recallsReceivedLeases,
            .hidesOpenCircuits, .forgetsLostMembers, .recordsOutdatedPolls:
            true
        default: false
        }
    }
}

/// A mistake that an in-memory registry makes on purpose, to show that the tests notice it.
package enum EndpointFlaw: String, Hashable, Sendable, CaseIterable {
    /// A change overwrites concurrent changes.
    case takesStaleChanges
    /// A repeated request creates another endpoint.
    case forgetsRequests
    /// Changed endpoints are not returned to readers.
    case hidesChanges
    /// Removed endpoints are not returned to readers.
    case hidesRemovals
    /// A reader of another registry gets its changes and keeps the old endpoints.
    case neverResetsReaders
    /// An account may have any number of endpoints.
    case forgetsAccounts
    /// Two endpoints of an account may have the same name.
    case forgetsNames
}
