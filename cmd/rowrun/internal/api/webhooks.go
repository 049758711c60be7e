package api

import (
	"context"
	"net/http"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/store"
)

// veil takes out where messages go for who only reads: an address may be all that keeps strangers from a receiver.
func veil(all []store.BoardWebhook, who auth.Who) {
	for i := range all {
		if !who.Operator() {
			all[i].URL, all[i].Signed = nil, nil
		}
	}
}

func (s *server) listWebhooks(ctx context.Context, r *http.Request, who auth.Who) (any, error) {
	w := query(r)
	p := w.page()
	project := w.text("project")
	if err := w.done(); err != nil {
		return nil, err
	}
	all, err := s.store.BoardWebhooks(ctx, project, 0, p)
	veil(all, who)
	return paged(all, p.Limit, func(h store.BoardWebhook) int64 { return h.ID }), err
}

func (s *server) getWebhook(ctx context.Context, r *http.Request, who auth.Who) (any, error) {
	id, err := pathID(r)
	if err == nil {
		err = query(r).done()
	}
	if err != nil {
		return nil, err
	}
	found, err := s.store.FindBoardWebhook(ctx, id)
	if err != nil {
		return nil, err
	}
	one := []store.BoardWebhook{found}
	veil(one, who)
	return one[0], nil
}

// deliverySearch reads the words that name deliveries.
func deliverySearch(w *words) store.DeliverySearch {
	return store.DeliverySearch{
		WebhookID: w.id("webhook"), PlanID: w.id("plan"),
		Statuses: w.choices("status", []string{"PENDING", "DELIVERED", "EXHAUSTED", "DISABLED"}),
	}
}

func (s *server) listDeliveries(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	w := query(r)
	f := deliverySearch(w)
	p := w.page()
	if err := w.done(); err != nil {
		return nil, err
	}
	found, err := s.store.SearchDeliveries(ctx, f, p)
	if err != nil {
		return nil, err
	}
	return listed(found), nil
}

// deliveryPage is a delivery with its body.
type deliveryPage struct {
	store.BoardDeliveryDetails
	Hidden bool        `json:"hidden"`
	May    mayDelivery `json:"may"`
}

type mayDelivery struct {
	Redeliver bool `json:"redeliver"`
}

func (s *server) getDelivery(ctx context.Context, r *http.Request, who auth.Who) (any, error) {
	id, err := pathID(r)
	if err == nil {
		err = query(r).done()
	}
	if err != nil {
		return nil, err
	}
	found, err := s.store.FindBoardDelivery(ctx, id)
	if err != nil {
		return nil, err
	}
	page := deliveryPage{BoardDeliveryDetails: found, Hidden: s.config.HideData}
	page.May.Redeliver = found.Status != "PENDING" && s.mayAct(ctx, who)
	if s.config.HideData {
		page.Body = nil
	}
	return page, nil
}
