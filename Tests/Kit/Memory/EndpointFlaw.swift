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
}
