package import JSONText

/// A charge that was observed.
package struct ObservedCharge: Hashable, Sendable {
    /// The bank's answer.
    package enum Status: String, Hashable, Sendable {
        case pending, succeeded, failed
    }

    package let id: ChargeID
    package let status: Status
    /// The upstream's object, unchanged.
    package let object: RawJSON?

    package init(id: ChargeID, status: Status, object: RawJSON?) {
        self.id = id
        self.status = status
        self.object = object
    }
}
