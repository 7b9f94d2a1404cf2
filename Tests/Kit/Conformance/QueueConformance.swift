/// The suite that says what a store is: every sentence of the seams as a case.
package enum QueueConformance {
    /// All behaviours, by topic.
    package static let allCases: [ConformanceCase] =
        enqueueing + charging + claiming + fencing + committing + hinting + lanes + outbox + reading
        + deliveries + outcomes + priorities + turns + ahead + control + slowing + circuits + poison
        + quarantine + explaining + fusing + members + registry + clocks
}
