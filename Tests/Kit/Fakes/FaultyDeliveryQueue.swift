package import Poller

/// A queue of deliveries whose operations fail by a plan.
package struct FaultyDeliveryQueue<Base: DeliveryQueue>: DeliveryQueue, FaultyLeaseQueue {
    package typealias Item = Delivery
    package typealias Change = DeliveryChange

    let base: Base
    let plan: FaultPlan

    /// Puts a plan in front of a queue.
    package init(_ base: Base, plan: FaultPlan) {
        self.base = base
        self.plan = plan
    }

    package func mark(_ deliveries: [DeliveryMark]) async throws(StoreError) {
        try await plan.run(.mark) { () throws(StoreError) in try await base.mark(deliveries) }
    }

    package func stats() async throws(StoreError) -> StoreStats {
        try await plan.run(.read) { () throws(StoreError) in try await base.stats() }
    }
}
