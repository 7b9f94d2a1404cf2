/// A visit to make to one partition.
package struct Exchange: Hashable, Sendable {
    package let partition: Int
    /// The results that go with it.
    package let results: Int
    /// The most items to ask for; 0 claims nothing.
    package let limit: Int
    /// Only the insurance made this claim.
    package let isInsurance: Bool
}
