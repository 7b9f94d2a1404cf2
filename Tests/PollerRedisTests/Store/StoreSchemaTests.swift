import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerRedis

/// The bytes that earlier and later releases read, whose meaning never changes.
@Suite struct StoreSchemaTests {
    @Test("key kinds keep the letters of earlier releases")
    func keys() {
        #expect(
            pinned(KeyKind.self) == """
                item=w long=o log=l attempts=y notes=N replay=n normal=z urgent=u readyNormal=a readyUrgent=b \
                occupiedLanes=s leaseEnds=r leases=f lane=c lanesWithSettings=k closed=h \
                quarantine=x orders=d openCreated=T closedCreated=V outbox=e fanOuts=F members=p departures=D meta=m endpoints=g endpointOrder=j \
                endpointVersions=v endpointsRemoved=t registry=q endpointRequest=i \
                accessKeys=A accessKeysUsed=B searchBucket=S words=W knownLanes=L endpointCounts=G endpointNames=Y auditTrail=C \
                incidents=I incidentsPast=J incidentItems=K activity=H idempotentRequest=R \
                suspects=P setAside=Q setAsideFields=U
                """
        )
        let keys = Keys(namespace: "poller:", partitions: 16)
        #expect(keys.declared(3) == ["poller:m{3}", "poller:never{3}"])
        let more = Keys(namespace: "poller:", map: PartitionMap(partitions: 64, base: 16))
        #expect(more.declared(3) == ["poller:m{3}", "poller:never{3}64"])
        #expect(
            pinned(SplitStage.self) == "closing=c frozen=f copied=m filling=n before=b open=o"
        )
        #expect(keys.outbox(3) == "poller:e{3}")
        #expect(keys.attempts(of: "id", 3) == "poller:y{3}id")
        #expect(keys.registry == "poller:q{0}")
        #expect(keys.replay(of: "123456789") == "poller:n{3}123456789")
        #expect(keys.wakeChannel == "poller:wake" && keys.recordedChannel == "poller:recorded")
        #expect(keys.markedChannel == "poller:marked")
        #expect(keys.events(of: "src_1") == "poller:events:src_1")
    }

    @Test("record fields keep the letters of earlier releases")
    func fields() {
        #expect(
            pinned(ItemField.self) == """
                source=s facts=i lane=l began=b deadline=x run=n seq=q state=v token=g closed=c \
                hinted=h hasLong=e hasError=y crashes=j reopenedSeq=r endedAs=k pendingHint=f payment=m \
                secret=p notify=N metadata=M order=o terms=t words=W moreWords=X forgottenSeq=u accepted=a compacted=F \
                compactedMore=G url=w
                """
        )
        #expect(pinned(LongField.self) == "notify=n metadata=m private=p charge=k error=y order=o")
        #expect(
            pinned(LaneField.self) == """
                inFlight=f arrival=t notBefore=n heldUntil=u failures=s lastFailure=g openings=o \
                denials=q failingSince=w factor=r slowUntil=v parked=p listed=l empty=e urgentTurn=du \
                normalTurn=dz paused=x intervalUs=i burst=b inFlightMax=m
                """
        )
        #expect(
            pinned(MetaField.self) == """
                trimmed=trimmed newestSetAside=setaside turn=turn seen=seen back=back gap=gap gapEnd=gapend \
                gapsSum=gaps joined=joined confirmed=confirmed history=history \
                markedBefore=whole keysVersion=keys reduced=faded compacted=compacted split=split splitting=splitting \
                splitter=splitter
                """
        )
        #expect(
            pinned(SecretsField.self) == """
                webhook=webhook cursor=cursor mail=mail inline=inline plain=plain
                """
        )
        #expect(pinned(OutboxField.self) == "item=i seq=q lane=l")
        #expect(pinned(AuditField.self) == "change=c")
        #expect(pinned(RegistryField.self) == "version=v floor=f")
        #expect(pinned(IncidentField.self) == "board=b turn=t owner=o due=d")
        #expect(
            pinned(SweepField.self)
                == "owner=o heldUntil=u due=d cursor=c caughtUp=t pause=p reread=r"
        )
        #expect(pinned(UsageField.self) == "reads=r transactions=t")
        #expect(pinned(LeaseMark.self) == "hinted=k hasError=y crashed=z outdated=o")
        #expect(pinned(GoalCode.self) == "leftPending=l final=f")
        #expect(
            pinned(DeliveryPart.self) == """
                cursor=0 failures=1 attempts=2 retryAt=3 failedSince=4 escalated=5 dead=6 again=7 \
                cursorDigest=8 pendingFallback=9
                """
        )
        #expect(
            pinned(AttemptValue.self) == """
                outcome=0 kind=1 at=2 seq=3 number=4 code=5 resolveMs=6 connectMs=7 firstByteMs=8 \
                totalMs=9 event=10 digest=11 host=12 port=13 reason=14 excerpt=15
                """
        )
    }

    @Test("a watch option is stored unless it has its default value, and is read back")
    func options() throws {
        // A new option is added last; the letters of the others never change.
        let first = "policy=P goal=U authorisation=A abandoned=B trace=T"
        #expect(pinned(WatchOption.self).hasPrefix(first))
        let letters = WatchOption.allCases.map(\.rawValue)
        #expect(ItemField.allCases.allSatisfy { !letters.contains(String($0.rawValue)) })
        #expect(WatchOptions().stored.isEmpty)
        let trace = try #require(
            TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        )
        var several = [WatchOptions(), WatchOptions(policy: .interactive, trace: trace)]
        several += WatchGoal.allCases.map { WatchOptions(policy: .patient, goal: $0) }
        for authorisation in DeadlineActs.Authorisation.allCases {
            several.append(WatchOptions(acts: DeadlineActs(authorisation: authorisation)))
        }
        for abandoned in DeadlineActs.Abandoned.allCases {
            several.append(WatchOptions(goal: .final, acts: DeadlineActs(abandoned: abandoned)))
        }
        for options in several {
            let pairs = options.stored.map { ($0.field, $0.value) }
            let stored = Dictionary(uniqueKeysWithValues: pairs)
            #expect(WatchOptions(stored) == options)
            // A longer value would cost the record its compact form.
            #expect(stored.values.allSatisfy { $0.utf8.count <= ShortText.bytesMax })
        }
        #expect(several.last?.stored.map(\.value) == ["f", "leave"])
        let traced = WatchOptions(trace: trace).stored.first
        #expect(traced?.value == "S_kvNXezTaajzpKdDg5HNgDwZ6oLqQK3AQ")
        #expect(WatchOptions([.policy: "unknown"]) == nil)
    }

    @Test(
        "a status with any text is read back unchanged",
        arguments: ["a|b", "|", "Awaiting Payment"]
    )
    func status(text: String) throws {
        let state = WatchState(status: try SourceStatus(text), attempts: 3, malformed: 2)
        let read = try #require(WatchRecord.state(WatchRecord.text(of: state)))
        #expect(read.status?.description == text)
        #expect(read.attempts == 3 && read.malformed == 2)
    }

    @Test("a new delivery is stored as the state that mark.lua starts with")
    func freshDelivery() {
        #expect(DeliveryRecord.text(of: DeliveryState()) == "0|0|0|")
        let state = DeliveryState(
            cursor: 4,
            failures: 2,
            attempts: 9,
            retryAt: Timestamp(ms: 70),
            failedSince: Timestamp(ms: 60),
            escalated: 3,
            dead: [1, 2],
            again: [2],
            cursorDigest: "abc",
            pendingFallback: [4]
        )
        #expect(DeliveryRecord.text(of: state) == "4|2|9|70|60|3|1,2|2|abc|4")
    }

    @Test("names in scripts are replaced by their stored values, and nothing else changes")
    func rendering() {
        let script = """
            #!lua flags=no-writes
            -- ITEM.deadline in a comment stays, as does lane.heldUntil
            local w = redis.call('HMGET', key(KEY.item, id), ITEM.deadline, ITEM.token)
            if lane.heldUntil and string.byte(m) == MARKBYTE.hinted then set(lane, LANE.heldUntil, 1) end
            local READY = { [KEY.urgent] = KEY.readyUrgent }
            lane.changed[1], lane_of(w[1]).name = parts[PART.again], string.lower(CLOSED.dead)
            """
        #expect(
            ScriptNames.render(script) == """
                #!lua flags=no-writes
                -- ITEM.deadline in a comment stays, as does lane.heldUntil
                local w = redis.call('HMGET', key('w', id), 'x', 'g')
                if lane.u and string.byte(m) == 107 then set(lane, 'u', 1) end
                local READY = { ['u'] = 'b' }
                lane.changed[1], lane_of(w[1]).name = parts[8], string.lower('dead')
                """
        )
    }

    @Test("no script sent to Redis contains an unresolved name")
    func complete() {
        for script in Scripts.live.all {
            for line in script.source.split(separator: "\n") where !line.contains("--") {
                #expect(!line.contains(/\b(KEY|ITEM|LONG|LANE|META|ENTRY|CLOSED|MARK)\.[a-z]/))
            }
        }
    }

    /// Returns every name with its stored value.
    private func pinned<Name: CaseIterable & RawRepresentable>(_: Name.Type) -> String {
        Name.allCases.map { "\($0)=\($0.rawValue)" }.joined(separator: " ")
    }
}
