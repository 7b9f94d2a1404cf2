/// A mistake that an in-memory queue makes on purpose, to show that the tests would notice it.
package enum QueueFlaw: String, Hashable, Sendable, CaseIterable {
    /// Commits are taken from anybody who ever held the item: no fence.
    case takesStaleCommits
    /// What an owner has heard of is recalled too.
    case recallsWhatIsHeld
    /// The slots of leases that ended stay taken.
    case keepsSlotsOfEndedLeases
    /// A hint that comes while the item is leased is forgotten.
    case forgetsHintsWhileLeased
    /// Every lane is served as fast as it is asked.
    case ignoresRates
    /// An item whose lease has ended is claimed again although it stays leased to the first.
    case losesEndedLeases
    /// The urgent wait with the rest.
    case ignoresPriorities
    /// As long as anything urgent is there the rest is not served.
    case starvesTheRest
    /// Items taken ahead are said to start at once.
    case startsAheadAtOnce
    /// Items taken ahead are charged to the rate all at the moment of the claim.
    case chargesTheClaim
    /// A lane served keeps its place before the others.
    case servesInNoTurns
    /// A lane's own limit is stored and not obeyed.
    case ignoresOwnLimits
    /// A paused lane is served.
    case ignoresPauses
    /// Each of a burst of 429s halves the rate again.
    case halvesForEveryAnswer
    /// A halved lane stays halved.
    case neverRecoversFactor
    /// No failure opens a circuit.
    case neverOpens
    /// An item that fails again and again opens the circuit of its lane.
    case blamesTheLaneForOneItem
    /// An open circuit stays shut when its hold is over.
    case neverProbes
    /// A circuit whose hold is over lets everything through.
    case probesWithEverything
    /// Every hold of a circuit is as short as the first.
    case neverDoublesHolds
    /// Items that killed their holders are handed out in any company.
    case ignoresCrashes
    /// Crashes are counted over a whole life, not in a row.
    case forgivesNoCrash
    /// What is closed as dead is not put in quarantine.
    case forgetsQuarantine
    /// A watch that is redriven has the deadline it had.
    case keepsOldDeadlines
    /// A hint opens nothing that was closed.
    case leavesExpiredClosed
    /// A hint opens whatever was closed.
    case opensWhatIsSettled
    /// A hint opens what has ended its workers.
    case opensWhatEndsWorkers
    /// A claim does not say that the circuit of a lane is open.
    case hidesOpenCircuits
    /// What an archive has takes the place of what is there.
    case restoresOverOthers
    /// What is put back is told once more.
    case tellsWhatIsRestored
    /// The claim of a commit with a claim comes first.
    case claimsBeforeCommitting
    /// A note about marks is taken though another history has begun.
    case notesForAnyHistory
    /// Entries of the outbox grow idle though their consumer says that it is at work.
    case forgetsWhoIsAtWork
    /// Who has lost an entry of the outbox to another consumer takes it back.
    case letsAnybodyHold
    /// Trimming drops what is old, whoever has not read it.
    case trimsUnacknowledged
    /// What waits stands still for as long as the clock was set back.
    case freezesWithTheClock
    /// What was due to end while nobody saw the time pass is ended by that.
    case endsThingsInGaps
    /// Closed items are never forgotten.
    case neverPurges
    /// What was paid is forgotten with the rest, though it may still come back.
    case forgetsWhatMayComeBack
    /// Attempts of deliveries are not kept.
    case losesAttempts
    /// A delivery with dead letters rests like any other.
    case settlesWhatIsSetAside
    /// A revision asks neither who holds the delivery nor what it remembers.
    case revisesBlindly
    /// A mark that names an event is like any other while somebody holds the delivery.
    case losesNamedEvents
    /// Since when an endpoint fails is counted from its first failure ever.
    case neverForgivesTrouble
    /// A process that left is still listed.
    case keepsDepartedMembers
    /// A process whose beat expires is not listed as lost.
    case forgetsLostMembers
    /// What has ended with an answer is not opened by news of its money.
    case hearsNothingOfMoney
    /// News that the look which closes an item has not seen is closed with it.
    case closesOverNews
    /// Of the events of a commit only the last goes to the outbox.
    case tellsOnlyTheLast
    /// A commit that says nothing of the payment makes the store forget it.
    case forgetsPayments
    /// A secret that a poll has seen is not kept.
    case learnsNoSecrets
    /// Who joins a watch changes the order that is paid by it.
    case movesToOtherOrders

    /// Only deliveries show it, who tells them, or a clock that is set; the simulation, which is of
    /// watches under a clock that runs, cannot.
    package var isBeyondSimulation: Bool {
        switch self {
        case .losesAttempts, .settlesWhatIsSetAside, .revisesBlindly, .losesNamedEvents,
            .neverForgivesTrouble, .notesForAnyHistory, .forgetsWhoIsAtWork,
            .letsAnybodyHold, .freezesWithTheClock, .endsThingsInGaps, .forgetsPayments,
            .learnsNoSecrets, .hearsNothingOfMoney, .movesToOtherOrders, .forgetsWhatMayComeBack,
            .closesOverNews, .restoresOverOthers, .tellsWhatIsRestored, .recallsWhatIsHeld,
            .hidesOpenCircuits, .forgetsLostMembers:
            true
        default: false
        }
    }
}

/// A mistake that an in-memory registry makes on purpose, to show that the tests would notice it.
package enum EndpointFlaw: String, Hashable, Sendable, CaseIterable {
    /// A change overwrites whatever others have changed meanwhile.
    case takesStaleChanges
    /// A repeated request creates another endpoint.
    case forgetsRequests
    /// Readers are not told of an endpoint that has changed.
    case hidesChanges
    /// Readers are not told of an endpoint that is gone.
    case hidesRemovals
    /// A reader of another registry is told what is new and keeps the rest.
    case neverBeginsAnew
    /// An account may have as many endpoints as it likes.
    case forgetsAccounts
    /// Two endpoints of an account may have the same name.
    case forgetsNames
}
