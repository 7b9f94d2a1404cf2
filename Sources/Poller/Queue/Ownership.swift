/// Which partitions a process claims from first: rendezvous hashing over the live ones.
///
/// Everybody computes the same answer from the same list, and a process that comes or goes moves
/// only its own share (Thaler and Ravishankar, 1998). A hint for efficiency: two that disagree
/// for a moment both claim, which is as safe as ever.
package enum Ownership {
    /// The partitions of 0 ..< `partitions` in which `me` scores highest of `members`.
    ///
    /// Somebody who is not on the list yet counts as on it.
    package static func partitions(
        _ partitions: Int,
        of me: OwnerID,
        among members: [OwnerID]
    ) -> Set<Int> {
        let others = members.filter { $0 != me }
        return Set(
            (0..<partitions).filter { partition in
                let mine = score(me, partition)
                return others.allSatisfy { other in
                    let theirs = score(other, partition)
                    return mine != theirs ? mine > theirs : me.description > other.description
                }
            }
        )
    }

    /// FNV-1a over the owner and the partition, mixed by the finaliser of MurmurHash3: both are
    /// too short for FNV alone to spread.
    private static func score(_ owner: OwnerID, _ partition: Int) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in "\(owner)/\(partition)".utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        hash = (hash ^ (hash >> 33)) &* 0xff51_afd7_ed55_8ccd
        hash = (hash ^ (hash >> 33)) &* 0xc4ce_b9fe_1a85_ec53
        return hash ^ (hash >> 33)
    }
}
