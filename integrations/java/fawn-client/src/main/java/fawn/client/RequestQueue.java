package fawn.client;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Requests that have not ended, by their tickets, and by when something is to be done about them. */
final class RequestQueue {
    private final Map<Long, Request> byTicket = new HashMap<>();
    /** Tickets by time, each in its order. */
    private final TreeMap<Long, List<Long>> due = new TreeMap<>();

    Request get(long ticket) {
        return byTicket.get(ticket);
    }

    void insert(long ticket, Request request, long dueUs) {
        byTicket.put(ticket, request);
        request.dueUs = dueUs;
        due.computeIfAbsent(dueUs, time -> new ArrayList<>(1)).add(ticket);
    }

    Request remove(long ticket) {
        Request request = byTicket.remove(ticket);
        if (request != null) {
            forget(ticket, request.dueUs);
        }
        return request;
    }

    private void forget(long ticket, long dueUs) {
        List<Long> tickets = due.get(dueUs);
        tickets.remove((Long) ticket);
        if (tickets.isEmpty()) {
            due.remove(dueUs);
        }
    }

    /** Something is to be done about it then, or at its deadline. */
    void setDue(long ticket, long dueUs) {
        Request request = byTicket.get(ticket);
        if (request != null) {
            forget(ticket, request.dueUs);
            request.dueUs = Math.min(dueUs, request.deadlineUs);
            due.computeIfAbsent(request.dueUs, time -> new ArrayList<>(1)).add(ticket);
        }
    }

    /** When something is to be done next; {@link Long#MAX_VALUE} for never. */
    long nextDueUs() {
        return due.isEmpty() ? Long.MAX_VALUE : due.firstKey();
    }

    /** The ticket of one about which something is to be done by now; {@code null} for none. */
    Long nextDue(long nowUs) {
        return nextDueUs() <= nowUs ? due.firstEntry().getValue().get(0) : null;
    }

    /** Those whose last try went to a front-end. */
    List<Long> askedOf(long front) {
        List<Long> asked = new ArrayList<>();
        byTicket.forEach((ticket, request) -> {
            if (request.to == front) {
                asked.add(ticket);
            }
        });
        return asked;
    }

    /** All of them, which are in it no longer. */
    List<Request> drain() {
        List<Request> all = new ArrayList<>(byTicket.values());
        byTicket.clear();
        due.clear();
        return all;
    }
}
