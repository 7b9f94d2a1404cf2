/// The name of a delivery for operators: `dlv_7_q3Xo0bZ1kLpA`, its partition and its item.
///
/// The partition is part of it so that one read finds the delivery; partitions never change.
package struct DeliveryID: Hashable, Sendable, CustomStringConvertible {
    package let partition: Int
    package let item: ItemID

    /// Names a delivery.
    package init(partition: Int, item: ItemID) {
        self.partition = partition
        self.item = item
    }

    /// Reads a name.
    package init(_ text: String) throws(InvalidInput) {
        let parts = text.split(separator: "_", maxSplits: 2, omittingEmptySubsequences: false)
        let isItem = { (byte: UInt8) in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard parts.count == 3, parts[0] == "dlv", let partition = Int(parts[1]), partition >= 0,
            String(partition) == parts[1], parts[2].utf8.count == 12,
            parts[2].utf8.allSatisfy(isItem)
        else {
            throw InvalidInput(
                field: "delivery",
                message: "must be the id of a delivery such as dlv_7_q3Xo0bZ1kLpA"
            )
        }
        self.partition = partition
        item = ItemID(unchecked: String(parts[2]))
    }

    package var description: String { "dlv_\(partition)_\(item)" }
}
